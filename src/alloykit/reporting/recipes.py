"""The recipe as the page and the model card show it: local paths without their folders, no address of a cluster, ids of the hub unchanged."""

from __future__ import annotations

import re
from typing import Any

from alloykit.escape import last_part
from alloykit.models.location import BUNDLED, is_hub_id
from alloykit.recipe.recipe import Recipe

_PATH = re.compile(r"([/~\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\]|[a-z][a-z0-9+.-]*://)")


def public_values(recipe: Recipe) -> dict[str, Any]:
    """The recipe as values for a public page: all defaults included, local paths without their folders, no address of a cluster."""
    values = recipe.model_dump(mode="json")
    for spec, teacher in zip(recipe.teachers, values["teachers"], strict=True):
        on_hub = spec.model_name is not None
        teacher[spec.key] = (
            model_name(spec.source, teacher.get("revision") is not None) if on_hub else last_part(teacher[spec.key])
        )
    for block in (values["student"], (values["generation"] or {}).get("language_model")):
        if block is not None:
            block["model"] = model_name(block["model"])
    for data in (values["texts"], *((values[key] or {}).get("data") for key in ("validation", "labelled", "evaluate"))):
        for place in (data, *(data.get("more") or ())) if isinstance(data, dict) else ():
            if place.get("path") is not None:
                place["path"] = last_part(place["path"])
    if (values["student"] or {}).get("continues") is not None:
        values["student"]["continues"] = last_part(values["student"]["continues"])
    if (values["evaluate"] or {}).get("reference") is not None:
        values["evaluate"]["reference"] = last_part(values["evaluate"]["reference"])
    values["method"] = _without_folders(values["method"])
    values["training"]["arguments"] = _without_folders(values["training"]["arguments"], hub_ids=False)
    if values["engine"]["address"] not in (None, "auto", "local"):
        del values["engine"]["address"]  # the name of a machine
    values["output"] = last_part(values["output"])
    return values


def model_name(model: str, on_hub: bool | None = None) -> str:
    """A model's id on the hub unchanged; for a local folder only its name.

    on_hub: False if it is known to be no model of the hub, for instance because a run has found no revision of it.
    """
    if model == BUNDLED or (on_hub is not False and is_hub_id(model)):
        return model
    return last_part(model)


def _without_folders(value: Any, *, hub_ids: bool = True) -> Any:
    """Of values of any form, in which strings may be local paths. hub_ids: a string with one slash may be a model of the hub."""
    if isinstance(value, dict):
        return {key: _without_folders(inner, hub_ids=hub_ids) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_folders(inner, hub_ids=hub_ids) for inner in value]
    local = isinstance(value, str) and (_PATH.match(value) or value.count("/") > (1 if hub_ids else 0))
    return last_part(value) if local else value
