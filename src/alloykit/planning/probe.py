"""Measure how long a teacher's passes and the student's steps take on this machine, with a few real batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from alloykit.blocks import ModelSpec
from alloykit.knowledge.store.store import SHARD_ROWS
from alloykit.models.batches import token_batches
from alloykit.models.loading import load_encoder
from alloykit.models.tokens import encode, pad, usable_length
from alloykit.stages.prepared import Prepared
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.teachers.protocol import Answerer, TeacherInfo
from alloykit.training.dataset import held_out_size
from alloykit.training.sampler import LengthSampler
from alloykit.training.schedule import Schedule, required
from alloykit.training.steps import StepProbe
from alloykit.training.student import build_student

TEXTS = SHARD_ROWS  # sample of the texts
_Lengths = np.ndarray[Any, Any]
ASKED = 64  # texts that a teacher without tokens answers
POINTS = 3  # batches that are timed: the longest texts, the shortest, and one between


@dataclass(frozen=True)
class ProbeResult:
    """Seconds for all texts of the sample. `tokens`: real tokens; `padded`: tokens with padding."""

    plain: float
    sampled: float
    tokens: int
    padded: int
    texts: int


def probe_teacher(prepared: Prepared, info: TeacherInfo) -> ProbeResult:
    """Time one teacher's plain pass and one Monte-Carlo pass. Loads its weights, writes nothing. AlloyError as in a sweep."""
    options, shown = prepared.sweep_options(), _sample_texts(prepared)
    teacher: Any = info.load(options)
    if not info.gives.model:
        return _probe_answers(teacher, shown)
    encodings = teacher.encode(shown["text"], shown.get("text_pair"))
    lengths = np.array([len(e["input_ids"]) for e in encodings])
    batches = token_batches(lengths.tolist(), options.tokens_per_batch, one_length=teacher.one_length)
    sampler = teacher.pass_sampler if options.passes else None

    @torch.inference_mode()
    def plain(rows: Sequence[int]) -> None:
        with teacher.lean:
            teacher.model(**teacher.batch([encodings[i] for i in rows])).logits.float().cpu()

    @torch.inference_mode()
    def sampled(rows: Sequence[int]) -> None:
        assert sampler is not None
        with torch.random.fork_rng(), teacher.lean:
            sampler.sample(teacher.model, teacher.batch([encodings[i] for i in rows]), 1).cpu()

    return ProbeResult(
        _total_seconds(plain, batches, lengths),
        _total_seconds(sampled, batches, lengths) if sampler else 0.0,
        int(lengths.sum()),
        sum(_padded_tokens(b, lengths) for b in batches),
        len(shown["text"]),
    )


def _probe_answers(teacher: Answerer, shown: dict[str, list[str]]) -> ProbeResult:
    """Time the answers of a teacher that is not a model of transformers, to a few texts."""
    prepared = teacher.prepare(shown["text"], shown.get("text_pair"))[:ASKED]
    begun = time.perf_counter()
    teacher.answer(prepared, lambda n: None)
    return ProbeResult(time.perf_counter() - begun, 0.0, 0, 1, len(prepared))


def probe_student(prepared: Prepared) -> float:
    """Predicted seconds of the training with its checks. Builds the student, keeps nothing."""
    recipe, options, n = prepared.recipe, prepared.recipe.training, len(prepared.texts)
    assert recipe.student is not None
    model, tokenizer = build_student(recipe.student, prepared.space, options.seed)
    shown, length = _sample_texts(prepared), usable_length(model, tokenizer, options.max_length)
    encodings = encode(tokenizer, shown["text"], shown.get("text_pair"), length)
    lengths = np.array([len(e["input_ids"]) for e in encodings])
    order = list(LengthSampler(lengths, size := options.batch_size * options.accumulate, options.seed))
    steps = sorted((order[i : i + size] for i in range(0, len(order), size)), key=lambda b: -_padded_tokens(b, lengths))
    probe = StepProbe(model, tokenizer, options, prepared.method.needs, prepared.device)
    step = _total_seconds(lambda rows: probe.step([encodings[i] for i in rows]), steps, lengths) / len(lengths)
    check = _total_seconds(lambda rows: probe.check([encodings[i] for i in rows]), steps, lengths) / len(lengths)
    held_out = held_out_size(n, options.held_out) if options.select == "unlabelled" else 0
    seconds = 0.0
    for phase in prepared.method.phases():
        checks = Schedule.of(prepared.examples, options, phase.epochs).checks
        seconds += (
            step * prepared.examples * (phase.epochs or required(options.epochs, "epochs")) + check * held_out * checks
        )
    return seconds


def probe_text_encoder(prepared: Prepared, encoder: ModelSpec) -> float:
    """Predicted seconds in which the encoder that the method asks for reads all texts. Loads its weights, writes nothing. AlloyError."""
    options, shown = prepared.sweep_options(), _sample_texts(prepared)
    model, tokenizer = load_encoder(encoder)
    model.to(options.device)
    encodings = encode(
        tokenizer, shown["text"], shown.get("text_pair"), usable_length(model, tokenizer, options.max_length)
    )
    lengths = np.array([len(e["input_ids"]) for e in encodings])

    @torch.inference_mode()
    def read(rows: Sequence[int]) -> None:
        batch = pad(tokenizer, [encodings[i] for i in rows])
        model(**{key: value.to(model.device) for key, value in batch.items()}).last_hidden_state.cpu()

    seconds = _total_seconds(read, token_batches(lengths.tolist(), options.tokens_per_batch), lengths)
    return seconds * len(prepared.texts) / len(lengths)


def _sample_texts(prepared: Prepared) -> dict[str, list[str]]:
    texts = prepared.texts
    return texts.table.take(np.sort(sampled_positions(len(texts), TEXTS)), texts.text_columns)


def _padded_tokens(rows: Sequence[int], lengths: _Lengths) -> int:
    return len(rows) * int(lengths[list(rows)].max())


def _total_seconds(run: Callable[[Sequence[int]], None], batches: Sequence[Sequence[int]], lengths: _Lengths) -> float:
    """Seconds for all batches: a few are timed, and the time per padded token between them is interpolated."""
    at = sorted({round(i * (len(batches) - 1) / (POINTS - 1)) for i in range(POINTS)})
    run(batches[at[0]])  # not timed: the first run allocates memory and compiles
    rates = []
    for i in at:
        begun = time.perf_counter()
        run(batches[i])
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        rates.append((time.perf_counter() - begun) / _padded_tokens(batches[i], lengths))
    every = np.interp(range(len(batches)), at, rates)
    return float(sum(rate * _padded_tokens(b, lengths) for rate, b in zip(every, batches, strict=True)))
