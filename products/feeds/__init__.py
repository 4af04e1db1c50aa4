"""Feeds: what is new, ranked by papers that a reader liked and disliked, or found by a saved query."""
