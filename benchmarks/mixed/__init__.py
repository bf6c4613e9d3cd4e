"""Teachers of any kind, and several questions: what they cost in accuracy, and whose states Alloy needs."""
