"""The types that every other room speaks in. Imports numpy and nothing of ours."""
