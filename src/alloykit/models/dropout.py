"""Switch dropout on without switching the model to training mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


@contextmanager
def dropout_active(model: nn.Module) -> Iterator[None]:
    """While the block runs, every dropout of the model is active. Every flag is restored afterwards, also after an error.

    The flags of two kinds of modules are set: dropout layers, and attention modules. Most architectures (BERT, RoBERTa, ELECTRA,
    DistilBERT, ALBERT, ModernBERT) pass the attention dropout rate to a fused kernel only if the attention module's own
    `training` flag is set. The flags of other modules are not changed, so that nothing else that depends on them (layer drop,
    batch statistics, memories) changes.
    """
    switched = [module for module in model.modules() if _is_dropout(module) or _is_attention(module)]
    before = [module.training for module in switched]
    try:
        for module in switched:
            module.training = True
        yield
    finally:
        for module, flag in zip(switched, before, strict=True):
            module.training = flag


def set_dropout_rate(config: Any, rate: float) -> list[str]:
    """Write one rate into every dropout setting of a model's configuration. Returns the names of the changed settings.

    Call it before the model is built: some architectures use an identity in place of a dropout with rate 0.
    """
    changed = []
    for key, value in config.to_dict().items():
        numeric = value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))
        if "dropout" in key and numeric:
            setattr(config, key, rate)
            changed.append(key)
    return changed


def dropout_rates(config: Any) -> list[float]:
    """All dropout rates in a model's configuration."""
    found = config.to_dict().items()
    return [v for k, v in found if "dropout" in k and isinstance(v, (int, float)) and not isinstance(v, bool)]


def _is_dropout(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__.endswith("Dropout")


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__
