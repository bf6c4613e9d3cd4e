"""Temporary files: what does not fit into memory, with a path, so that other processes can read it too."""
