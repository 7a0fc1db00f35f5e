"""Where Steelyard meets other tools: scorers, metrics and callbacks in the shape that each takes; all optional."""
