"""Compute the teachers' outputs: what is pending, one shard after the other."""
