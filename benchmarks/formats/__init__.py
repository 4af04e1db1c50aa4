"""Whether the formats of ses-minilm are better than its base."""
