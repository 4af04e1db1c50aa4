"""Files of labels: CSV, RIS and ASReview's projects, in and out."""
