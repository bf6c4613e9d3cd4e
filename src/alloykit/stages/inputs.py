"""The inputs of a run: everything except the recipe on which its fit and its student depend."""

from __future__ import annotations

from typing import Any

from alloykit.knowledge.store.store import Store
from alloykit.methods.registry import spec_of
from alloykit.models.location import model_identity
from alloykit.stages.prepared import Prepared


def teachers_of(prepared: Prepared) -> dict[str, Any]:
    """Teacher's name → what identifies the teacher."""
    return {info.name: info.identity() for info in prepared.infos}


def inputs_of(prepared: Prepared) -> dict[str, Any]:
    """Fingerprints of texts and models. They are known before the sweep."""
    recipe, method = prepared.recipe, prepared.method
    validation, generated, labelled = prepared.validation, prepared.generated, prepared.labelled
    student = recipe.student if method.phases() else None
    encoder = prepared.text_encoder
    earlier = (
        {} if student is None or student.continues is None else {"continues": model_identity(student.continues, None)}
    )
    return earlier | {
        "texts": prepared.texts.fingerprint(),
        "teachers": teachers_of(prepared),
        "student": None if student is None else model_identity(student.model, student.revision),
        "validation": None if validation is None else validation.fingerprint(),
        "labelled": None if labelled is None else labelled.fingerprint(),
        "generated": None if generated is None else generated.fingerprint(),
        "text_states": None if encoder is None else model_identity(encoder.model, encoder.revision),
        "compute_format": prepared.compute_format.name if method.needs.teachers else None,
    }


def cache_made_of(prepared: Prepared, store: Store) -> dict[str, Any]:
    """By teacher, the settings of its outputs and passes in the store. They are known after the sweep."""
    if not prepared.method.needs.teachers:
        return {}
    kinds = ("teacher", "sampling") if prepared.method.needs.passes else ("teacher",)
    return {name: {kind: store.identity(name, kind) for kind in kinds} for name in prepared.names}


def fitted_to(prepared: Prepared, inputs: dict[str, Any], cache: dict[str, Any]) -> dict[str, Any]:
    """What the method's fit depends on."""
    labels = [list(labels) for labels in prepared.space.teachers]
    method = {"method": spec_of(prepared.method), "labels": labels, "seed": prepared.recipe.training.seed}
    if prepared.space.catch_all:
        method["catch_all"] = list(prepared.space.catch_all)
    return method | inputs | {"cache": cache}
