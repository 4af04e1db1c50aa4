"""Papers to a searchable hybrid index and judged pages: ses beside four stacks of other libraries."""
