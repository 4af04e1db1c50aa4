"""Paper-reviewer matching: its data sets, and the protocols that measure it."""
