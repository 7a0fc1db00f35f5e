"""Task `anomalies`: scores of defects, by image and by pixel."""
