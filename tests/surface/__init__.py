"""What users see of ses, one fact a line: `python -m tests.surface` writes it, and a test compares it with the files.

Not here: help and descriptions (docs/cli.md), and the figures of rankings, which tests/eval/retrieval/test_protocol.py
compares to four digits.
"""
