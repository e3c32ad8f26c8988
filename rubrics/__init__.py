"""The rubric: four yes/no criteria on which every open answer is scored.

Used by `question_bank` (each item says what earns each criterion) and by `tutor.grading`.
"""

from rubrics.schema import CRITERION_IDS, Criterion, CriterionId, Rubric, RubricError, load_rubric

__all__ = ["CRITERION_IDS", "Criterion", "CriterionId", "Rubric", "RubricError", "load_rubric"]
