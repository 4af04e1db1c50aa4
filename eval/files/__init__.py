"""Files that evaluation reads and writes."""
