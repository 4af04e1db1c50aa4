"""The weights that are trained, and the files of the result. One file per choice."""
