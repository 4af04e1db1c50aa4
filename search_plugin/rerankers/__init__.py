"""Rerankers: the papers found put into a better order."""
