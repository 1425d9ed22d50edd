"""Diagnosis of a capture: what limited its flows, and why they sent data again."""
