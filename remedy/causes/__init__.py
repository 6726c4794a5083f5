"""What is wrong: one entry a cause, the root before its symptoms, with evidence."""
