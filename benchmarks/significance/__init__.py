"""Error rates of intervals for the difference of two classifiers, and the choice of alloykit's interval."""
