"""What a run gives, as plain data: reports, comparisons, lineups, scores of VLM runs and gates; how they are kept."""
