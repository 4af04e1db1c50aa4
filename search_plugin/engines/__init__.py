"""The engines: one file each, chosen by URL."""
