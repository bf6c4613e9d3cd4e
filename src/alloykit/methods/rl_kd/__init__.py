"""RL-KD: the method and its policy."""
