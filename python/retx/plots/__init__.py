"""Plots: pure functions from tables to figures in a common style (`retx.plots.style`)."""
