"""The embedded engine: words in tantivy, vectors in files of our own and faiss, one folder a generation."""
