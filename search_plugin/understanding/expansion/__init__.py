"""Other spellings of a query's words, which are searched beside those that were typed (docs/ranking.md, Spellings)."""
