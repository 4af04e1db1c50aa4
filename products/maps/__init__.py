"""Maps: the papers of a search placed by meaning, with topics."""
