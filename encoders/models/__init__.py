"""What a model is: its card, weights and files, and where they are from."""
