"""Indexes of others: searched where they are, with vectors beside their documents' own fields."""
