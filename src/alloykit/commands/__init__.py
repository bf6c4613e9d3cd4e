"""One file per command, callable from Python with the same arguments."""
