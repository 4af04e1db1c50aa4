"""Suggestions for a manuscript from the papers most like it: venues, references, reviewers."""
