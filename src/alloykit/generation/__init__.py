"""Generate texts with a language model and the teachers."""
