"""What a query names beside its topic: a venue, years, a type of publication. Papers that have it come first."""
