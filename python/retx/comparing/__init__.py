"""Comparison of simulations and emulations (`retx.compare`, `retx compare`)."""
