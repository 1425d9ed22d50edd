"""Pure functions from table to figure, in one style (`retx.plots.style`)."""
