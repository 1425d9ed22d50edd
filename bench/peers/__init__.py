"""retx beside ns-2 and ns-3: the same scenarios, the same machine, in turn."""
