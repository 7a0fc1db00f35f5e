"""What a report of distributions shows beside scores."""
