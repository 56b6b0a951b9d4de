"""What the runner does, in terms of its ports."""
