"""What is learned from a task, one file an objective."""
