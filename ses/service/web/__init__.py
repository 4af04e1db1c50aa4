"""The web page for readers: one file of routes and one template for each page."""
