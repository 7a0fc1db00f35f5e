"""Events in time, as a task of Steelyard."""
