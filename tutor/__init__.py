"""Tutor: interview practice on LLM inference serving, graded locally and settled by a simulator."""

__version__ = "0.1.0"
