"""Rules that a result must hold to, judged by its intervals and by a baseline: for CI and for test suites."""
