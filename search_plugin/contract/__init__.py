"""What a search asks of an engine, and what every engine gives: schema, filter, plan, hits, interface."""
