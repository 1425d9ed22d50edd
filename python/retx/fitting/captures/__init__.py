"""Fits of captures: path and endpoints of a flow, and a scenario that behaves like it."""
