"""The diagnosis of a live unit: the same judges, fed from a snapshot."""
