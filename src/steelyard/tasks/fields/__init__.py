"""What the tasks of dense fields share: options, the reader, joined fields, regions and masks."""
