"""Pure functions on tensors. Every one returns a value per text, [B]; whoever calls it takes the mean."""
