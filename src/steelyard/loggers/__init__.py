"""Scores handed on to where runs are kept: MLflow, Weights & Biases, TensorBoard, Hugging Face; all optional."""
