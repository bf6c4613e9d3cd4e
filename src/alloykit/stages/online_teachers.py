"""Teachers in memory while the student trains: for token states, and for methods that make their own examples."""

from __future__ import annotations

from typing import Any

from alloykit.data import Texts
from alloykit.knowledge.online.online_source import OnlineSource
from alloykit.methods.protocol import Phase
from alloykit.models.attention import use_eager_attention
from alloykit.names import counted
from alloykit.outputs import Source
from alloykit.progress import log_line
from alloykit.stages.prepared import Prepared
from alloykit.teachers.mc_dropout import key as sample_seed
from alloykit.teachers.protocol import Reading


def phase_data_of(prepared: Prepared) -> Any:
    """The function that makes the data of each phase, for a method that learns from its own examples. None for other methods."""
    method = prepared.method
    if not method.needs.phase_data:
        return None
    options, context = prepared.sweep_options(), prepared.context
    teachers: Any = [
        info.load(Reading(max_length=options.max_length, device=options.device)) for info in prepared.infos
    ]

    def make_phase_data(phase: Phase, student: Any, modules: Any) -> tuple[Any, Any]:
        seed = sample_seed(prepared.recipe.training.seed, phase.name, 0, 0)
        student.to(options.device)
        modules.to(options.device)
        data = method.phase_data(phase, student, modules, teachers, context, seed)
        return data.dataset, data.collator

    return make_phase_data


def online_source(
    prepared: Prepared, source: Source, texts: Texts, teachers: dict[str, Any], tokenizer: Any, length: int
) -> OnlineSource:
    """A source with the stored outputs, and with token states from teachers in memory. tokenizer, length: the student's."""
    layers = dict(zip(prepared.names, prepared.method.teacher_layers(prepared.context), strict=True))
    scores = prepared.method.needs.attention_scores
    return OnlineSource(source, prepared.names, teachers, layers, texts, tokenizer, length, scores=scores)


def load_teachers(prepared: Prepared) -> dict[str, Any]:
    """The teachers whose token states the method compares, by name."""
    method = prepared.method
    asked = zip(prepared.infos, method.teacher_layers(prepared.context), strict=True)
    infos = [info for info, layers in asked if layers]
    log_line(f"training keeps {counted(len(infos), 'teacher')} in memory: method '{method.name}' compares token states")
    found: dict[str, Any] = {info.name: info.load(prepared.sweep_options()) for info in infos}
    for teacher in found.values() if method.needs.attention_scores else ():
        use_eager_attention(teacher.model)
    return found
