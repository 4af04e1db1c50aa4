"""Suites: protocols run one after another on local data, with a cache of earlier results."""
