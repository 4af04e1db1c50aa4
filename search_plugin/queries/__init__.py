"""Queries as people type them: words, phrases, exclusions, AND, OR, NOT, brackets and fields (docs/queries.md)."""
