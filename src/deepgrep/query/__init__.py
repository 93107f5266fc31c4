"""From text to a predicate: parse, match, and a necessary condition on raw bytes."""
