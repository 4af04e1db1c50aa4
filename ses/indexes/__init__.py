"""Open indexes: searching and writing them, their facts, the default one, and what is kept over one by name."""
