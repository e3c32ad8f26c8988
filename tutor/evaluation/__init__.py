"""Evaluation: labelled answers in, how well a grader agrees with the labels out."""
