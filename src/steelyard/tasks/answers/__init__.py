"""Short answers to questions about images: exact match, VQA accuracy, ANLS, error rates of texts, yes/no, counts."""
