"""Everything that prints or turns an exception into an exit code."""
