"""Switch dropout on without switching the model to training mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from alloykit.models.token_states import text_part


@contextmanager
def dropout_active(model: nn.Module) -> Iterator[None]:
    """While the block runs, every dropout of the model is active. Every flag is restored afterwards, also after an error.

    The flags of three kinds of modules are set: dropout layers, attention modules, and modules that hold a dropout rate. Most architectures
    (BERT, RoBERTa, ELECTRA, DistilBERT, ALBERT, ModernBERT) pass the attention dropout rate to a fused kernel only if the attention
    module's own `training` flag is set. BART, OPT and XLM have no dropout layers: their layers call the function with their own rate and
    flag. The flags of other modules are not changed, so that nothing else that depends on them (layer drop, batch statistics,
    memories) changes.
    """
    switched = [
        module for module in model.modules() if _is_dropout(module) or _is_attention(module) or _has_rate(module)
    ]
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
    for part in _parts(config):
        for key, value in part.to_dict().items():
            if _is_rate(key, value) or ("dropout" in key and value is None):
                vars(part)[key] = rate  # not setattr, which checks the type: transformers has an integer for MPT's rate
                changed.append(key)
    return changed


def dropout_rates(config: Any) -> list[float]:
    """All dropout rates in a model's configuration."""
    found = [item for part in _parts(config) for item in part.to_dict().items()]
    return [value for key, value in found if _is_rate(key, value)]


def _is_rate(key: str, value: Any) -> bool:
    """Whether a setting is the rate of a dropout. GPT-2 and its relatives name theirs `resid_pdrop`, `embd_pdrop` and `attn_pdrop`."""
    return ("dropout" in key or "pdrop" in key) and isinstance(value, (int, float)) and not isinstance(value, bool)


def _parts(config: Any) -> list[Any]:
    """The configuration, its part for texts if that is another one, and the configurations inside: of MPT's attention, of T5Gemma's encoder and decoder."""
    inner = text_part(config)
    holder = config if config.is_encoder_decoder else inner  # of a model of texts and images not the part for images
    inside = [value for value in vars(holder).values() if hasattr(value, "get_text_config")]
    return list({id(part): part for part in (config, inner, *inside)}.values())


def _is_dropout(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__.endswith("Dropout")


def _is_attention(module: nn.Module) -> bool:
    return "Attention" in type(module).__name__


def _has_rate(module: nn.Module) -> bool:
    """Whether it holds the rate of a dropout of its own, and would not drop whole layers too."""
    rates = [value for key, value in vars(module).items() if "dropout" in key and isinstance(value, float)]
    return any(rates) and not getattr(module, "layerdrop", 0)
