"""From a measured series to a scenario: laws of loss and delay, with intervals and tests."""
