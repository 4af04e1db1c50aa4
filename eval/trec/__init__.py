"""TREC's nouns and files: topics, judgments, runs, rounds."""
