"""Taggers and forecasters: quality, calibration and speed."""
