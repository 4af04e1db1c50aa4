"""Suites: protocols run one after another on data that is at hand, with a cache of what was found before."""
