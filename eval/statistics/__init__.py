"""How far numbers can be trusted, and whether two differ by more than chance."""
