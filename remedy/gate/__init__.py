"""Watches a start to a verdict."""
