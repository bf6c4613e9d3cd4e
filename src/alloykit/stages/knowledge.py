"""The second stage of a run: the teachers' outputs for the pool, the validation texts and the texts with a known source teacher."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.online.encoder_states import WithTextStates, text_states
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.outputs import LabelsOnly, Source
from alloykit.run_folder.run_folder import RunFolder, record_inputs
from alloykit.stages.inputs import cache_made_of
from alloykit.stages.prepare import stored
from alloykit.stages.prepared import Prepared


@dataclass(frozen=True)
class LabelledOutputs:
    """Labelled texts, their labels as `Prepared.labels` gives them, and the teachers' outputs for them."""

    texts: Texts
    labels: Tensor
    source: Source


@dataclass(frozen=True)
class Knowledge:
    """The teachers' outputs.

    `stored`: for the pool, from the store. `pool`: the same, with the states of the method's encoder if it has one. `labelled`: for the few
    labelled texts. `generated`: for texts with a known source teacher, if the method needs them. `made_of`: by teacher, what its outputs
    depend on. `speed`: reads per second of each teacher that has read texts of the pool in this call.
    """

    store: Store
    stored: Source
    pool: Source
    validation: LabelledOutputs | None
    labelled: LabelledOutputs | None
    generated: Source | None
    made_of: dict[str, Any]
    speed: dict[str, float]


def gather(prepared: Prepared, run: RunFolder, cache: str | Path | None = None) -> Knowledge:
    """Compute the outputs that are missing in the store, and read all. The run folder records what they were made of. AlloyError.

    cache: the folder of the store, if it is not in the run folder."""
    store = prepared.store(cache)
    source, speed = _pool(prepared, store, prepared.texts)
    made_of = cache_made_of(prepared, store)
    record_inputs(run, {"cache": made_of})
    validation = _outputs(prepared, store, prepared.validation, run, "validation")
    labelled = _outputs(prepared, store, prepared.labelled, run, "labelled")
    generated = _generated_source(prepared, store, run)
    pool = with_text_states(prepared, source, prepared.texts, run.folder, "texts")
    return Knowledge(store, source, pool, validation, labelled, generated, made_of, speed)


def _pool(prepared: Prepared, store: Store, texts: Texts) -> tuple[Source, dict[str, float]]:
    """Compute the missing outputs for some texts, and read all, with the texts' labels if the method needs them. Also reads per second."""
    method = prepared.method
    labels = prepared.labels(texts) if method.needs.labels else None
    if not method.needs.teachers:
        assert labels is not None
        return LabelsOnly(labels), {}
    speed = sweep(prepared.infos, texts, store, prepared.sweep_options())
    return stored(prepared, store, texts.ids(), labels), speed


def _outputs(
    prepared: Prepared, store: Store, texts: Texts | None, run: RunFolder, which: str
) -> LabelledOutputs | None:
    if texts is None:
        return None
    labels = prepared.labels(texts)
    if not prepared.method.needs.teachers:
        return LabelledOutputs(texts, labels, LabelsOnly(labels))
    return LabelledOutputs(texts, labels, _labelled(prepared, store, texts, labels, run, which))


def _generated_source(prepared: Prepared, store: Store, run: RunFolder) -> Source | None:
    """Outputs for texts with a known source teacher: the generated texts, else the recipe's texts, which then have labels."""
    if not prepared.method.needs.generated_texts:
        return None
    texts = prepared.generated if prepared.generated is not None else prepared.texts
    return _labelled(prepared, store, texts, prepared.labels(texts), run, "own")


def _labelled(prepared: Prepared, store: Store, texts: Texts, labels: Tensor, run: RunFolder, which: str) -> Source:
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    return with_text_states(prepared, stored(prepared, store, texts.ids(), labels), texts, run.folder, which)


def with_text_states(prepared: Prepared, source: Source, texts: Texts, folder: Path, which: str) -> Source:
    """The same source, with the states of these texts from the encoder that the method asks for; unchanged if it asks for none.

    folder: where the file with the states is. which: a name for the texts, used in the name of that file."""
    reading = prepared.encoder_reading
    if reading is None:
        return source
    return WithTextStates(source, text_states(reading, texts, folder / f"text_states-{which}.safetensors"))
