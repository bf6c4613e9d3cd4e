"""How often intervals of a difference between two classifiers are wrong, and which one alloykit takes."""
