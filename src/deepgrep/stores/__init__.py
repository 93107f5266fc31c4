"""One module per agent. Each ends in AGENT; the registry loads it by name."""
