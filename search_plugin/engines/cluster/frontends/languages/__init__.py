"""The requests of a page as programs: a file for each language, and one line of the registry."""
