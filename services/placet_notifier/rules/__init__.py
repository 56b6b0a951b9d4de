"""What the notifier decides, without I/O and without a clock."""
