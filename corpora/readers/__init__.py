"""One file per corpus: how its records become papers."""
