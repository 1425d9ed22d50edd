"""Why a flow is slow, and what would make it faster (`retx why`)."""
