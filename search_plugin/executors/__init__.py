"""Who runs a plan's legs and joins them: we ourselves, or the engine."""
