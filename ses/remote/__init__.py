"""The client of a service (`ses serve`): a library and its indexes, searched over HTTP."""
