"""Search for the values of scenario keys that optimise an objective (`retx.tune`, `retx tune`)."""
