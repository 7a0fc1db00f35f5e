"""The pages of many results, served to this machine alone: `steelyard view DIR`."""
