"""The stages of a search, in the order of `search_plugin.ranking.stages.registry`."""
