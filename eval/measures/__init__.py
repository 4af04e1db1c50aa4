"""What is measured: rankings, clusters, classes."""
