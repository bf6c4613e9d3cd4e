"""The teachers' outputs on the disk: shards, receipts, and what every file was made of."""
