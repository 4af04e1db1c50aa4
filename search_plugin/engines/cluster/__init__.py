"""OpenSearch and Elasticsearch: all they have in common, and one file for what each does its own way."""
