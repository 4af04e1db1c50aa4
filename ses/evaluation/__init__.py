"""Evaluation for Python programs and for the commands: what is measured, on which data, and the result."""
