"""Files of records into tokenised examples."""
