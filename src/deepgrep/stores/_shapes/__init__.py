"""Formats that several agents share."""
