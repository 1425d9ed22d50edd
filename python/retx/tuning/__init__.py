"""Searches the values of scenario keys that serve an objective best (`retx.tune`, `retx tune`)."""
