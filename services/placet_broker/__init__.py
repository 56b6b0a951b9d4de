"""The interaction broker: keeps every question, decides who may answer it, settles it once."""
