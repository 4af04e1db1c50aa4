"""Paper-reviewer matching: scores of reviewers for submissions, conflicts, assignment and explanations."""
