"""The state of a cluster and its indexes, and how to fix what is wrong."""
