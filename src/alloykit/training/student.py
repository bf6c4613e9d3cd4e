"""Build a student: n layers of any encoder (the first, the last or evenly spaced ones), and a new head over the union of labels."""

from __future__ import annotations

import copy
import re
from typing import Any

import torch
from torch import nn

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.models.dropout import set_dropout_rate
from alloykit.models.export import ESTIMATED, TEMPERATURE
from alloykit.models.head_input import logits_layers
from alloykit.models.heads import HEAD_KEY, PooledClassifier, PooledHead
from alloykit.models.loading import load_config, load_encoder
from alloykit.models.long_texts import LONG_TEXTS
from alloykit.models.problem_type import set_multi_label
from alloykit.models.questions import KEY as QUESTIONS_KEY
from alloykit.progress import log_line
from alloykit.training.continued_student import start_from_earlier
from alloykit.training.training_options import StudentSpec


def build_student(spec: StudentSpec, space: LabelSpace, seed: int = 0, *, multi_label: bool = False) -> tuple[Any, Any]:
    """The student in float32 with a random head from `seed`, and its tokenizer. multi_label: its labels do not exclude each other. AlloyError if
    the encoder has too few layers."""
    from transformers import set_seed

    config, revision = load_config(spec)
    for key in (
        HEAD_KEY,
        TEMPERATURE,
        ESTIMATED,
        LONG_TEXTS,
        QUESTIONS_KEY,
    ):  # of the encoder's own head, which the student does not use
        if hasattr(config, key):
            delattr(config, key)
    same_labels = tuple(config.id2label.get(i) for i in range(config.num_labels)) == space.names
    if spec.dropout is not None:
        set_dropout_rate(config, spec.dropout)
    config.num_labels = space.size
    config.id2label, config.label2id = space.id2label, space.label2id
    set_multi_label(config, multi_label)
    layers = layers_to_keep(config.num_hidden_layers, spec)
    set_seed(seed)
    model, tokenizer = load_encoder(spec.model_copy(update={"revision": revision}), config, head=True)
    if not same_labels:  # otherwise a head with the same number of other classes would be kept
        for layer in logits_layers(model).values():
            nn.init.normal_(layer.weight, std=getattr(config, "initializer_range", 0.02))
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    if len(layers) < config.num_hidden_layers:
        model = keep_layers(model, layers)
    if spec.head == "pooled":
        model = PooledClassifier(model.base_model, PooledHead(config.hidden_size, space.size))
    if spec.continues is not None:
        known = start_from_earlier(model, spec, space)
        log_line(f"student: continues '{spec.continues}'; {len(known)} of {space.size} labels were known to it")
    return model, tokenizer


def layers_to_keep(available: int, spec: StudentSpec) -> list[int]:
    """Positions of the encoder's layers that the student keeps, ascending. available: how many it has. AlloyError if there are too few."""
    n = spec.layers or available
    if n > available:
        raise AlloyError(
            expected=f"a student model of at least {n} layers",
            got=f"'{spec.model}' with {available}",
            hint=f"Set `student: {{layers: {available}}}` or less, or take a deeper model.",
        )
    if spec.keep == "first":
        return list(range(n))
    if spec.keep == "last":
        return list(range(available - n, available))
    return [(j + 1) * available // n - 1 for j in range(n)]


def keep_layers(model: Any, layers: list[int]) -> Any:
    """A model of the same class with only these layers; everything else is copied. AlloyError for a model whose layers cannot be separated."""
    depth = model.config.num_hidden_layers
    config = copy.deepcopy(model.config)
    for key, value in vars(config).items():  # settings that list one value per layer
        if isinstance(value, (list, tuple)) and len(value) == depth and ("layer" in key or key == "attention_window"):
            setattr(config, key, [value[i] for i in layers])
    try:
        config.num_hidden_layers = len(layers)
    except NotImplementedError as error:
        raise _cannot_select_layers(model, str(error).splitlines()[0]) from error
    small = type(model)(config).to(torch.float32)
    shrunk = {n: len(m) for n, m in small.named_modules() if isinstance(m, nn.ModuleList)}
    stacks = [
        n
        for n, m in model.named_modules()
        if isinstance(m, nn.ModuleList) and len(m) == depth and shrunk.get(n) == len(layers)
    ]
    state = dict(model.state_dict())
    for stack in stacks:  # none where all layers share their weights (ALBERT)
        pattern = re.compile(rf"{re.escape(stack)}\.(\d+)\.(.*)")
        layered = {key: match for key in list(state) if (match := pattern.fullmatch(key))}
        values = {key: state.pop(key) for key in layered}
        for key, match in layered.items():
            if int(match[1]) in layers:
                state[f"{stack}.{layers.index(int(match[1]))}.{match[2]}"] = values[key]
    shapes = {key: value.shape for key, value in small.state_dict().items()}
    if other := [key for key, value in state.items() if shapes.get(key, value.shape) != value.shape]:
        raise _cannot_select_layers(
            model, f"weights whose size depends on the number of layers: {', '.join(other[:3])}"
        )
    # Norms that the new first layer lacks or should not have (ModernBERT has none before its first layer) stay as built.
    missing = small.load_state_dict(state, strict=False).missing_keys
    if unexpected := [key for key in missing if not re.search(r"norm", key, re.IGNORECASE)]:
        raise _cannot_select_layers(model, f"no weights for {', '.join(unexpected[:3])}")
    return small


def _cannot_select_layers(model: Any, got: str) -> AlloyError:
    return AlloyError(
        expected=f"separate layers in '{type(model).__name__}'",
        got=got,
        hint="Leave `layers` out: the whole encoder then becomes the student.",
    )
