"""The command line: one file a command. No logic, only calls of the api and printing."""
