"""What each JIT library would compile with here, and what it needs."""
