"""Slow checks on real data. Results are committed; the data is not part of the project."""
