"""One reader per corpus, each in its own file: it converts records into papers."""
