"""Products made of the vectors of an index: tags, forecasts, feeds, screening, reviewers, topics."""
