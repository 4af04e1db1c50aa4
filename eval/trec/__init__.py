"""TREC's concepts and files: topics, judgments, runs, rounds."""
