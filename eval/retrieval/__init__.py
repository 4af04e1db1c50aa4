"""Search of a corpus, measured through an engine or exactly."""
