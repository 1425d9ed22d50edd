"""Pure functions from table to table."""
