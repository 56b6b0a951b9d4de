"""What the runner decides without looking at a clock or a server."""
