"""A loaded classifier that labels texts."""
