"""Filters over papers: an engine-neutral tree, its text form, its evaluation in Python, and clusters' queries."""
