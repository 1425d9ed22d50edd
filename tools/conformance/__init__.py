"""Plays other projects' packetdrill scripts against retx's TCP."""
