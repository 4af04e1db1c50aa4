"""Topics of an index: clusters of its papers by their vectors, with labels from their terms and a map."""
