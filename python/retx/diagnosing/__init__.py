"""Diagnosis of captures: limits of the flows, and reasons of their retransmissions."""
