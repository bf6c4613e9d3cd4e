"""Alloy: the method, its mixture over labels, the check of a fit, and its report."""
