"""How papers are ranked: the plan of a query, the stages, the rerankers."""
