"""Alloy: the method, its mixture over labels, the tests of a fit, and its report."""
