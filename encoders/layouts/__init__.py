"""How models are stored on disk, one file per layout: each reads a folder or file into a `Model`."""
