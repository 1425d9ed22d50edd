"""Runs of scenarios: simulated, emulated, or played from a script."""
