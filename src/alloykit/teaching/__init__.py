"""`teach`: fine-tune teachers."""
