"""Texts from nothing but a language model and the teachers."""
