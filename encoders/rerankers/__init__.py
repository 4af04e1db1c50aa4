"""Models that read a query and a paper together, to rank again what a search found."""
