"""Fits of laws of loss and delay to a measured series, with intervals and tests, for scenarios."""
