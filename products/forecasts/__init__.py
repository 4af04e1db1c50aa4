"""Forecasts: expected citations as a percentile within field and year, from RGN vectors, with an interval."""
