"""The command line: one file per command. No logic, only calls of the api and printing."""
