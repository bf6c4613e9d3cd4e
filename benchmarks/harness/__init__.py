"""Runs a declared grid of experiments: shared stages once, finished cells never again, failures published."""
