"""Fusions: they combine the rankings of several legs."""
