"""From texts to batches of tokens."""
