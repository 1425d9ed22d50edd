"""Exit codes of the command line, in addition to 0 and 1."""

BAD_INPUT = 2
FAULT = 70
KILLED = 128
"""Plus the number of the signal."""
INTERRUPTED = 130
"""Code of a shell for SIGINT: 128 plus the number of the signal."""
PIPE_CLOSED = 141
"""Code of a shell for SIGPIPE."""
