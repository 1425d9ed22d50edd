"""User code: how it is found, checked, called and hashed."""
