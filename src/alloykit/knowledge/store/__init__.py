"""The teachers' outputs on the disk: shards, receipts, and records of what every file was made of."""
