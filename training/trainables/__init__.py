"""Which weights are trained, and how the result lies on disk, one file each."""
