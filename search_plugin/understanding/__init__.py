"""What a typed query means: syntax, known papers, authors, preferences, spelling, expansion."""
