"""Fusions: several legs' rankings made into one."""
