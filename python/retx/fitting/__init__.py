"""Loss and delay models fitted to measured series, with intervals and tests.

A fit can be written as a scenario.
"""
