"""What is measured and how it is reduced to a number: one file per task, and the catalogue of them all."""
