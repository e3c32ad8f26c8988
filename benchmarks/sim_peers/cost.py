"""The step cost every simulator is given, as near as each can express it. Times in milliseconds.

The figures are those of an A100 with an 8B model: a decode step takes 11.6 ms and 80.4 ns for every token of
context, a prompt token adds 55 us. For the check of one simulator against the other each step has one of
three durations instead, which both can express exactly.
"""

BASE_MS = 11.6
PER_PREFILL_TOKEN_MS = 0.055
PER_CONTEXT_TOKEN_MS = 8.04e-5

CHUNK_MS = 20.0
DECODE_MS = 10.0
"""A step with both takes the sum."""

MAX_SEQS = 128
TOKEN_BUDGET = 512
BLOCK_TOKENS = 16
