"""The reader of VQA's official code; see docs/compat/vqaTools.md."""
