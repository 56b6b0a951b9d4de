"""What the notifier can do, one module each."""
