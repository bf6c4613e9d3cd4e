"""How good is it: predictions, metrics, and what the teachers disagree about."""
