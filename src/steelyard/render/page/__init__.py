"""The page: one self-contained file that opens from disk, without network, under a strict content security policy."""
