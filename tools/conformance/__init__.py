"""Runs packetdrill scripts of other projects against the TCP of retx."""
