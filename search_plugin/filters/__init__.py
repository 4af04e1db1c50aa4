"""Filters over papers: one engine-neutral tree, its text form, its plain meaning, its SQL and its JSON query."""
