"""What is done with a finished run."""
