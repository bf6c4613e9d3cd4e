"""Alloy, alloykit's own method, against MUKA and perfect routing."""
