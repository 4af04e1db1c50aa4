"""Topics: the papers of an index in clusters with labels, and their places on a map."""
