"""Embedding files: texts read from where users have them, vectors written and read in the forms others use."""
