"""Text, JSON, diffs and progress."""
