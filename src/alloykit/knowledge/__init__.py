"""What the teachers know about the texts: read once by a sweep, kept in a store, read back in any order."""
