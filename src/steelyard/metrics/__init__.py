"""What is measured and how it is reduced to a number: one file a task, and the catalogue of them all."""
