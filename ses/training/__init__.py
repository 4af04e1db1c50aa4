"""Training, as Python programs and `ses train` call it: by recipes, and formats of an index."""
