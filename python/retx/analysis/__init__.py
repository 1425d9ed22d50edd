"""Analyses of the tables of runs: pure functions that take tables and return tables."""
