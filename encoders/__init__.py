"""Text to vectors: formats, model cards, graphs and the runtimes that run them."""
