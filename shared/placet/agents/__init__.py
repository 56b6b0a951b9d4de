"""What an author touches: agents, tools, their context, and how they are loaded."""
