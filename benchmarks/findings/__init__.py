"""The papers' findings in miniature."""
