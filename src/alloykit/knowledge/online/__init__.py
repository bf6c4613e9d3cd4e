"""Outputs that are too large to store: computed batch by batch while the student trains."""
