"""What a person wants, learned from papers that they chose: for feeds and for screening."""
