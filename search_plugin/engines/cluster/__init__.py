"""OpenSearch and Elasticsearch: what they share, and files for what each does differently."""
