"""Reports: what was found, and how it is shown. Numbers are rendered in one module."""
