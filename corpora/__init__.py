"""Papers: what one is, and a reader for every form they come in."""
