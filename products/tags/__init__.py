"""Facet tags: linear models over the vectors of an index, calibrated, with a threshold for each label."""
