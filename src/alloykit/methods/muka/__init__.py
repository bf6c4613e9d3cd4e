"""MUKA: the options, the equations of the paper in order, and beside them what is ours."""
