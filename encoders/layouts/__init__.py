"""How models lie on disk, one file a layout: each reads a folder or file into a `Model`."""
