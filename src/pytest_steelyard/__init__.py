"""A pytest plugin that gates scores in a test suite; outside of steelyard, so that pytest starts no slower."""
