"""The inbox: plain pages, rendered here, that work without JavaScript."""
