"""This machine, read only: every fact on its own, timed, with a reason where it is missing."""
