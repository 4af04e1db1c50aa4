"""Search for assistants, by the Model Context Protocol: tools over a library, read only."""
