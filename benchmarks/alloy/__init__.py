"""Alloy, alloykit's own method, against MUKA and oracle routing."""
