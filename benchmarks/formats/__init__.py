"""Whether the formats of a trained model are better than its base."""
