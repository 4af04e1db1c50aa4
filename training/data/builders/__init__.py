"""Builders: from papers to the records of a task."""
