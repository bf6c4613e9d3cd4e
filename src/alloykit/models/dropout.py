"""Switch dropout on without switching the model to training mode, and back again whatever happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def dropout_active(model: nn.Module) -> Iterator[None]:
    """Inside, every dropout of the model acts; every flag is restored afterwards, also after an error.

    Two kinds of modules are flipped: dropout layers, and attention modules, because most architectures (BERT, RoBERTa,
    ELECTRA, DistilBERT, ALBERT, ModernBERT) hand the attention dropout rate to a fused kernel only while the attention
    module's own `training` flag is set. The flag of every other module stays as it is, so that nothing else that depends
    on it (layer drop, batch statistics, memories) changes.
    """
    flipped = [module for module in model.modules() if _is_dropout(module) or _is_attention(module)]
    before = [module.training for module in flipped]
    try:
        for module in flipped:
            module.training = True
        yield
    finally:
        for module, flag in zip(flipped, before, strict=True):
            module.training = flag


def set_dropout_rate(config: Any, rate: float) -> list[str]:
    """Write one rate into every dropout setting of a model's configuration; returns the names of those changed.

    It must happen before the model is built: some architectures put an identity where the rate is 0.
    """
    changed = []
    for key, value in config.to_dict().items():
        numeric = value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        if "dropout" in key and numeric:
            setattr(config, key, rate)
            changed.append(key)
    return changed


def dropout_rates(config: Any) -> list[float]:
    """All dropout rates that a model's configuration sets."""
    found = config.to_dict().items()
    return [v for k, v in found if "dropout" in k and isinstance(v, (int, float)) and not isinstance(v, bool)]


def _is_dropout(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__.endswith("Dropout")


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__
