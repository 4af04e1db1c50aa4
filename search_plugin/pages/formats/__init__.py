"""Hits as text for other programs: one file for each format."""
