"""What users see of a search: the page, its highlights, and its forms for other programs."""
