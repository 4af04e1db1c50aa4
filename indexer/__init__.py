"""Papers and vectors into an engine."""
