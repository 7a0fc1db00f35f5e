"""The version. The build reads it from here; asking the installed package would cost every import 0.02 s."""

__version__ = "0.3.0"
