"""Talking to a language model: finding one, asking it, and serving one inside the program.

Importing this package costs no more than pydantic; litellm, httpx and llama.cpp are imported by the calls
that need them.
"""
