"""Comparison of retx with ns-2 and ns-3: the same scenarios on the same machine, in turn."""
