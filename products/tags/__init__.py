"""Facet tags: linear models over the CLF vectors of an index, calibrated, with a threshold for each label."""
