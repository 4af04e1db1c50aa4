"""Makes encoders: a recipe names data, objectives and weights, and the trainer turns them into a model folder."""
