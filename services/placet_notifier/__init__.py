"""The notifier: keeps every event, tells webhooks, and streams to whoever listens."""
