"""Task `rankings`: lists of documents for queries, scored against judgements. The task itself stands in `task`."""
