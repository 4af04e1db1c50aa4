"""Measures every claim about search and encoders."""
