"""Talking with the candidate: feedback after a grade, and answers to what they ask.

The model words things; code decides what may be said. Every sentence passes here before it is shown: before the
attempt none that gives the result away, after it none whose numbers were not held against the question's own.
"""
