"""Reads a systemd service as systemd would, follows its launch to the interpreter, and edits it losslessly."""
