"""Models for a library and its programs: loaded, described, and run here or by workers elsewhere."""
