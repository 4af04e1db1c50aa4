"""Everything that touches an engine: schema, query plan, fusion, facets, and the engines themselves."""
