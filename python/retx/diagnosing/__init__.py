"""What limited the flows of a capture, and why they sent data again."""
