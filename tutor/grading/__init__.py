"""Grading: an answer and a question in, four criteria with evidence out."""
