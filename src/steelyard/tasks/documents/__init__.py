"""Parsed pages: texts, tables and formulas of documents, in reading order."""
