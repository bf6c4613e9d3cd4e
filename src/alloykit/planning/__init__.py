"""What is known before a run: its plan, a first recipe, the health of machine and teachers."""
