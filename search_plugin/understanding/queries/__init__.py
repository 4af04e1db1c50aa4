"""Queries as people type them: phrases, exclusions, AND, OR, NOT, brackets and fields (docs/guide/queries.md)."""
