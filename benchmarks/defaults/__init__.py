"""How fast and how long a student should learn: the grid behind the default learning rate and number of steps."""
