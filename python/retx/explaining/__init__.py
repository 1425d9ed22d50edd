"""Explanation of a slow flow, and remedies for it (`retx why`)."""
