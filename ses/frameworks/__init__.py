"""Adapters: our indexes and models as other libraries expect them, each in a module that is imported by its users."""
