"""The modules and names of pycocoevalcap: COCOEvalCap, scorers, tokeniser; see docs/compat/pycocoevalcap.md."""
