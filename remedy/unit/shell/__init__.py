"""Shell scripts read, never run: as much of sh and bash as wrapper scripts of services use."""
