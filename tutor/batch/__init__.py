"""Grading many answers from a file, for whoever coaches: resumable, on several servers at once."""
