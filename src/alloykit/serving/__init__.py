"""A loaded classifier that answers texts."""
