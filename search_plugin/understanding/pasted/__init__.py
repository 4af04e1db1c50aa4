"""Searches pasted from PubMed, Ovid, Scopus, Web of Science, Embase and the Cochrane Library."""
