"""Let a new student start from an earlier one: all its weights, and the rows of its last layer for the labels that both know."""

from __future__ import annotations

from typing import Any

import torch

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.models.head_input import logits_layers
from alloykit.models.heads import is_pooled
from alloykit.models.loading import load_classifier, load_config
from alloykit.training.training_options import StudentSpec


def check_earlier_student(spec: StudentSpec, layers: int) -> None:
    """AlloyError if the student that `spec.continues` names is missing, or not of the encoder, layers and head of `spec`. Loads no weights.

    layers: how many layers the new student has.
    """
    if spec.continues is None:
        return
    earlier, wanted = load_config(_earlier(spec))[0], load_config(spec)[0]
    found = (earlier.model_type, earlier.hidden_size, earlier.num_hidden_layers, _head(is_pooled(earlier)))
    new = (wanted.model_type, wanted.hidden_size, layers, _head(spec.head == "pooled"))
    if found != new:
        raise _misfit(spec, _shape(*new), _shape(*found))


def start_from_earlier(model: Any, spec: StudentSpec, space: LabelSpace) -> list[str]:
    """Copy the weights of the student that `spec.continues` names into `model`, in place. Labels are joined by name: the rows of the last
    layer for labels that the earlier student does not know stay as they are.

    Returns the labels that it knew. AlloyError if the weights do not fit.
    """
    earlier, _ = load_classifier(_earlier(spec))
    last = last_layer_name(model)
    old, new = earlier.state_dict(), model.state_dict()
    rows = (f"{last}.weight", f"{last}.bias")
    strange = [k for k in new if k not in old or (k not in rows and old[k].shape != new[k].shape)]
    if strange or last_layer_name(earlier) != last:
        raise _misfit(spec, f"weights that fit {type(model).__name__}", f"none for {', '.join(strange[:3]) or last}")
    positions = {earlier.config.id2label[i]: i for i in range(earlier.config.num_labels)}
    known = [name for name in space.names if name in positions]
    here = torch.tensor([space.position(name) for name in known], dtype=torch.long)
    there = torch.tensor([positions[name] for name in known], dtype=torch.long)
    with torch.no_grad():
        for key, value in new.items():
            if key in rows:
                value[here] = old[key][there]
            else:
                value.copy_(old[key])
    return known


def last_layer_name(model: Any) -> str:
    """The name of the linear layer that gives the logits."""
    names = list(logits_layers(model))
    if not names:
        raise AlloyError(
            expected=f"a linear layer with {model.config.num_labels} outputs in {type(model).__name__}",
            got="none",
            hint="Leave `continues` out of `student:`.",
        )
    return names[-1]


def _earlier(spec: StudentSpec) -> ModelSpec:
    return ModelSpec(model=str(spec.continues), trust_remote_code=spec.trust_remote_code)


def _head(pooled: bool) -> str:
    return "pooled" if pooled else "plain"


def _shape(kind: str, width: int, layers: int, head: str) -> str:
    return f"a {kind} of {layers} layers and width {width} with a {head} head"


def _misfit(spec: StudentSpec, wanted: str, found: str) -> AlloyError:
    return AlloyError(
        expected=f"{wanted} in '{spec.continues}', which `student: {{continues: …}}` names",
        got=found,
        hint="A student continues one of the same encoder, layers and head. Leave `continues` out to begin anew.",
    )
