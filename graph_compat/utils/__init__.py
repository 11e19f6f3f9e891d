"""Paths that older programs import from."""
