"""Formats of one's own: trained by the papers of an index, and measured against what the index has already."""
