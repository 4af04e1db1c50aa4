"""Screening for systematic reviews: labels in, the next papers to read out, and when to stop."""
