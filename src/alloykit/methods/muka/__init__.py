"""MUKA: the options, the equations of the paper in order, and our extensions in files of their own."""
