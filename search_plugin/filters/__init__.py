"""Filters over papers: one engine-neutral tree, its text form, its plain meaning and its SQL."""
