"""What people type; no logic."""
