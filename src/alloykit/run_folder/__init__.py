"""The folder of a run: its files, what is in them, its lock."""
