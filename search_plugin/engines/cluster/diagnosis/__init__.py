"""How a cluster and its indexes are, and what to do about what is wrong."""
