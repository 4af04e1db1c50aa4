"""Rerankers: they reorder the papers found."""
