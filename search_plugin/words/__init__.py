"""Words, names and identifiers of texts: the languages and the terms by which all engines compare them."""
