"""Where a run's knowledge comes from: the store, teachers kept in memory, a frozen encoder, labelled validation texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.knowledge.online.encoder_states import WithTextStates, text_states
from alloykit.knowledge.online.live_source import LiveKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.mc_dropout import key as sample_seed
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.protocol import Phase
from alloykit.methods.registry import create
from alloykit.models.attention import write_out_attention
from alloykit.outputs import LabelsOnly, Source
from alloykit.progress import say
from alloykit.recipe.models import GENERATE, Recipe
from alloykit.stages.generated_texts import write_texts
from alloykit.stages.prepare import Prepared, stored
from alloykit.stages.run_folder import Run
from alloykit.stages.texts import GENERATED, generated, read, salted
from alloykit.teachers.hugging_face import Teacher


def knowledge_of(prepared: Prepared, store: Store, texts: Texts) -> Source:
    """Sweep what is missing of some texts, and read it, with the texts' labels if the method asks for them."""
    method = prepared.method
    labels = prepared.labels(texts) if method.needs.labels else None
    if not method.needs.teachers:
        assert labels is not None
        return LabelsOnly(labels)
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    return stored(prepared, store, texts, labels)


Own = tuple[Texts, Source]
"""Texts of which it is known whose teacher's they are, and what the teachers say of them."""


@dataclass(frozen=True)
class Validation:
    """Labelled validation texts, their labels in the union [n], and what the teachers say of them."""

    texts: Texts
    labels: Tensor
    source: Source


def validation_texts(prepared: Prepared, texts: Texts | None) -> Texts | None:
    """The recipe's `validation:`, where the method or the choice of the checkpoint asks for it. `texts`: those that are in memory."""
    recipe, method = prepared.recipe, prepared.method
    if not (method.needs.validation or recipe.training.select == "labelled") or recipe.validation is None:
        return None
    return texts if texts is not None else read(salted(recipe.validation.data, recipe), want_labels=True)


def validation_of(prepared: Prepared, store: Store, texts: Texts | None, run: Run) -> Validation | None:
    """The validation texts with their labels, and what the teachers say of them."""
    if texts is None:
        return None
    method, labels = prepared.method, prepared.labels(texts)
    if not method.needs.teachers:
        return Validation(texts, labels, LabelsOnly(labels))
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    source = with_text_states(prepared, stored(prepared, store, texts, labels), texts, run, "validation")
    return Validation(texts, labels, source)


def writes(recipe: Recipe) -> bool:
    """Whether texts are still to be written for this recipe."""
    return _wants_written(recipe) and not (generated(recipe) / GENERATED).exists()


def _wants_written(recipe: Recipe) -> bool:
    return recipe.generation is not None and (recipe.texts == GENERATE or create(recipe.method).needs.own_texts)


def written(recipe: Recipe, device: str) -> Texts | None:
    """The texts of the recipe's `generation:` block, written now if they were not; None where nobody asks for them."""
    if recipe.generation is None or not _wants_written(recipe):
        return None
    path = write_texts(
        recipe.teachers, recipe.labels, recipe.generation, generated(recipe),
        device=device, max_length=recipe.training.max_length,
    )  # fmt: skip
    return load_texts(TextsOptions(path=str(path), label="label"), want_labels=True)


def own_of(prepared: Prepared, store: Store, texts: Texts | None, run: Run) -> Own | None:
    """Texts of which it is known whose teacher's they are, and what the teachers say of them, where the method asks for it: the
    generated ones, else the recipe's own, which then have labels."""
    if not prepared.method.needs.own_texts:
        return None
    texts = texts if texts is not None else prepared.texts
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    source = stored(prepared, store, texts, prepared.labels(texts))
    return texts, with_text_states(prepared, source, texts, run, "own")


def with_text_states(prepared: Prepared, source: Source, texts: Texts, run: Run, which: str) -> Source:
    """The same source, with the states that the method's own encoder gives of these texts; as it is where the method asks for none.

    `which`: a name for the texts, of the file that keeps the states."""
    model = prepared.method.needs.text_states
    if model is None:
        return source
    options = prepared.sweep_options()
    states = text_states(
        model,
        texts,
        run.folder / f"text_states-{which}.safetensors",
        max_length=options.max_length,
        tokens_per_batch=options.tokens_per_batch,
        device=options.device,
    )
    return WithTextStates(source, states)


def supply_of(prepared: Prepared) -> Any:
    """What makes the data of each phase, for a method that learns from its own examples. None for any other."""
    method = prepared.method
    if not method.needs.phase_data:
        return None
    options, context = prepared.sweep_options(), prepared.context
    teachers = [Teacher.load(info, max_length=options.max_length, device=options.device) for info in prepared.infos]

    def supply(phase: Phase, student: Any, modules: Any) -> tuple[Any, Any]:
        seed = sample_seed(prepared.recipe.training.seed, phase.name, 0, 0)
        student.to(options.device)
        modules.to(options.device)
        data = method.phase_data(phase, student, modules, teachers, context, seed)
        return data.dataset, data.collator

    return supply


def live(
    prepared: Prepared, source: Source, texts: Texts, teachers: dict[str, Teacher], tokenizer: Any, length: int
) -> LiveKnowledge:
    """Stored answers, with token states from the teachers themselves."""
    layers = dict(zip(prepared.names, prepared.method.teacher_layers(prepared.context), strict=True))
    scores = prepared.method.needs.attention_scores
    return LiveKnowledge(source, prepared.names, teachers, layers, texts, tokenizer, length, scores=scores)


def load_teachers(prepared: Prepared) -> dict[str, Teacher]:
    """By name, the teachers whose token states the method compares."""
    options, method = prepared.sweep_options(), prepared.method
    asked = zip(prepared.infos, method.teacher_layers(prepared.context), strict=True)
    infos = [info for info, layers in asked if layers]
    say(f"training keeps {len(infos)} teachers in memory: method '{method.name}' compares token states")
    found = {
        info.name: Teacher.load(info, max_length=options.max_length, device=options.device, numbers=options.numbers)
        for info in infos
    }
    for teacher in found.values() if method.needs.attention_scores else ():
        write_out_attention(teacher.model)
    return found
