"""The command line: thin, it only wires the other packages."""
