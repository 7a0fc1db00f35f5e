"""Files and frames in, records out; results out to disk. One file a format."""
