"""Output for a person: streams without control characters, and numbers for reading."""
