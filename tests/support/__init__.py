"""What several test files share: data, helpers and fixtures."""
