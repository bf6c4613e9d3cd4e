"""Student training: the one place that touches transformers' Trainer."""
