"""What every process does alike: settings, logs, metrics, HTTP, credentials, lifecycle."""
