"""Fits of captures: the path that a flow took, both its ends, and the scenario that behaves so."""
