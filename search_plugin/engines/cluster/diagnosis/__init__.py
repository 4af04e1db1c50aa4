"""How a cluster and its indexes are, and what to do about what is wrong: what `ses doctor` tells of a cluster."""
