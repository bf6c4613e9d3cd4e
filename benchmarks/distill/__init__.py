"""Tables and figures of MT-BERT and RL-KD."""
