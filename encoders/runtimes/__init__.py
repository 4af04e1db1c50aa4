"""What runs an encoder's graph: one file each."""
