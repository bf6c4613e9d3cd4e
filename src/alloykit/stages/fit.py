"""The third stage of a run: the method is fitted to the whole pool, and reports about the fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from alloykit.knowledge.store.artifacts import cached_tensors
from alloykit.methods.protocol import Context
from alloykit.run_folder.file_names import STATE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.inputs import fitted_to, inputs_of
from alloykit.stages.knowledge import Knowledge
from alloykit.stages.method_reports import fit_view
from alloykit.stages.prepared import Prepared


@dataclass(frozen=True)
class Fitted:
    """`context`: with the method's state. Validation, generated and labelled texts are not in it, because `evaluate` does not have them.
    `report`: the method's `warnings` and `sections` about its fit, as JSON."""

    context: Context
    report: dict[str, Any]


def fit(prepared: Prepared, run: RunFolder, outputs: Knowledge) -> Fitted:
    """Fit the method to the pool, or read its state from the run folder if it was fitted to the same outputs. AlloyError."""
    validation, labelled = outputs.validation, outputs.labelled
    seen = replace(
        prepared.context,
        validation=None if validation is None else validation.source,
        generated=outputs.generated,
        labelled=None if labelled is None else labelled.source,
    )
    made_of = fitted_to(prepared, inputs_of(prepared), outputs.made_of)
    state = cached_tensors(run.folder / STATE, made_of, lambda: prepared.method.fit(outputs.pool, seen))
    context = replace(prepared.context, state=state)
    return Fitted(context, fit_view(prepared, context))
