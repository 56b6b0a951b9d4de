"""What the broker decides by, without I/O and without a clock."""
