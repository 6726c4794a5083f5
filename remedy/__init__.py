"""Diagnose and repair the CUDA toolchain of inference services that run from systemd units."""

__version__ = "0.1.0"
