"""What a cycle costs without Placet: its durable writes, publishes and consumes done bare."""
