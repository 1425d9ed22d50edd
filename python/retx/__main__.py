"""`python -m retx` is `retx`."""

from retx.cli import main

main()
