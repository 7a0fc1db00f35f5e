"""`python -m steelyard` is the command `steelyard`."""

from steelyard.cli.main import main

main()
