"""Papers: the data type, and a reader for every file format."""
