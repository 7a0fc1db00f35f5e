"""What several tasks share: errors of numbers, agreement plots, and what other tools do."""
