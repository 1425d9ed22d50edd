"""Fits of loss and delay models to a measured series, with intervals and tests, for scenarios."""
