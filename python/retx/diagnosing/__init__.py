"""Diagnosis of captures: limits of the flows, and reasons for their retransmissions."""
