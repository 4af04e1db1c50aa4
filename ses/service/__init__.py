"""The HTTP service: an API for programs, and a web page for readers, over the Python API."""
