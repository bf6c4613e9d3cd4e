"""Losses as pure functions on tensors. They return one value per text, [B]; the caller takes the mean."""
