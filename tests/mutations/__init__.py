"""One-line breakages of the sources; at least one test must notice each. Run: python -m tests.mutations."""
