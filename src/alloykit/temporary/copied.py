"""How much of one kind of data is copied into temporary files."""

COPIED = 1 << 33
"""Bytes that are copied at most. A copy is read faster, but the data may be larger than the free space."""
