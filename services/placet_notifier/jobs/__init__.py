"""What the notifier does by itself: send what is due, forget what is old."""
