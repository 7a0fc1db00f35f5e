"""The version, as the installed package says it."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("steelyard")
except PackageNotFoundError:  # a checkout that was never installed
    __version__ = "0+unknown"
