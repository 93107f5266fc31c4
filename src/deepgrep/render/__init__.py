"""Results and summaries as people and programs read them."""
