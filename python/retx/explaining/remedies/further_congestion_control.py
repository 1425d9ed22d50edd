"""Congestion controls of Linux that are seldom used, tried after remedies that help more often."""

from __future__ import annotations

from retx.explaining.remedies.congestion_control import FURTHER, of

REMEDIES = of(FURTHER)
