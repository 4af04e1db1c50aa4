"""Author disambiguation: which papers of one name are by the same person."""
