"""The evaluation of VQA's official code; see docs/compat/vqaEvaluation.md."""
