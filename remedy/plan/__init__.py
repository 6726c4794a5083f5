"""From requirements to an ordered list of steps, each with a preview, an undo and a reason."""
