"""The front ends of `javascript` and `examples`, run as they are: by node, PHP, nginx and a browser."""
