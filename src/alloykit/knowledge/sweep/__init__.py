"""Compute the teachers' outputs that are missing, shard by shard."""
