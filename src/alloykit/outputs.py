"""The teachers' outputs for a batch of texts, in the form that methods get."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from alloykit.stats.sampled_positions import sampled_positions

FITTED_TO = 100_000  # texts that a method is fitted to at most, if it must have all of them in memory


@dataclass(frozen=True)
class TeacherRows:
    """One teacher's outputs for B texts.

    `logits`: [B, C_i] float32, from the deterministic pass. Of a teacher that gives probabilities only they are log-probabilities, of which none is
    below log 1e-6 (`Context.gives_logits`); of a text without an answer they are uniform, − log C_i.
    `probability_sum`: [B, C_i] float32, Σ_k softmax(z_i(x; W_k)) over the Monte-Carlo passes; None without passes.
    `passes`: [B] int64, number of passes of each text.
    `pooled_states`: per layer that the method needs, the mean of the text's token states, [B, d_i] float16.
    `token_states`: per such layer, the states aligned to the student's tokens, [B, L_s, d_i] (knowledge/online/online_source.py);
    `token_mask`: [B, L_s] bool, the student's tokens that are aligned to a token of the teacher.
    `attention_scores`: per such layer, before the softmax, between the student's tokens, [B, H, L_s, L_s].
    `answered`: [B] bool, whether the teacher has an answer to the text; None: to all of them. A text without one is taught by the others.
    `abstains`: [B] bool, whether the teacher leaves the text to the others (knowledge/abstention.py); None: none of them.
    """

    logits: Tensor
    probability_sum: Tensor | None = None
    passes: Tensor | None = None
    pooled_states: tuple[Tensor, ...] | None = None
    token_states: tuple[Tensor, ...] | None = None
    token_mask: Tensor | None = None
    attention_scores: tuple[Tensor, ...] | None = None
    answered: Tensor | None = None
    abstains: Tensor | None = None

    @property
    def counts(self) -> Tensor | None:
        """[B] bool, whether the teacher has an answer to the text and does not abstain; None: all of its answers count."""
        if self.abstains is None:
            return self.answered
        return ~self.abstains if self.answered is None else self.answered & ~self.abstains

    def probabilities(self, temperature: float = 1.0) -> Tensor:
        """p_i = softmax(z_i / T), [B, C_i]."""
        return torch.softmax(self.logits / temperature, dim=-1)

    def mean_probabilities(self) -> Tensor:
        """p̄_i = (1/K) Σ_k softmax(z_i(x; W_k)), [B, C_i] (MUKA Eqs. 7–8); without passes the deterministic p_i."""
        if self.probability_sum is None or self.passes is None:
            return self.probabilities()
        return self.probability_sum / self.passes.unsqueeze(-1)


@dataclass(frozen=True)
class Rows:
    """B texts: every teacher's outputs, and the true labels if there are any.

    `labels`: [B] int64 positions in the union of labels, or None; with multi-label teachers [B, C] bool. `text_states`: [B, d] float16, the
    state of each text in a frozen encoder (`TextStates`).
    `given`: [B] int64, the label that a text of the recipe's `labelled:` has, as a position in the union; −1 for all other texts. With multi-label
    teachers [B, C] int64: 1 for a label that the text has, 0 for one that it does not have, −1 in all places of other texts.
    `embeddings`: [B, L, d], made instead of texts (AS-DFD). `hidden`: [B, L] bool, the positions that the student does not read.
    `questions`: of a student that answers several questions, the rows of each question; `teachers` is empty then.
    `supervision`: the fields of the method's `Supervision` of these texts, by name, if it was computed before the training; else None.
    """

    teachers: tuple[TeacherRows, ...]
    labels: Tensor | None = None
    text_states: Tensor | None = None
    given: Tensor | None = None
    embeddings: Tensor | None = None
    hidden: Tensor | None = None
    questions: tuple[Rows, ...] = ()
    supervision: Mapping[str, Tensor] | None = None

    def answered(self) -> Tensor | None:
        """Which teacher has an answer to which text, [B, N] bool; None where every teacher has one to every text."""
        return self._of_each([t.answered for t in self.teachers])

    def counts(self) -> Tensor | None:
        """Which teacher's answer to which text counts (`TeacherRows.counts`), [B, N] bool; None where all answers count."""
        return self._of_each([t.counts for t in self.teachers])

    def _of_each(self, which: Sequence[Tensor | None]) -> Tensor | None:
        if all(w is None for w in which):
            return None
        every = torch.ones_like(self.teachers[0].logits[:, 0], dtype=torch.bool)
        return torch.stack([every if w is None else w for w in which], -1)

    def weighed(self, weights: Tensor) -> Tensor:
        """The weights of the teachers, [B, N], zero for a teacher without an answer, divided by their sum. If no teacher with a
        weight has an answer to a text, its weights stay unchanged; such a text has the weight 0 in the training."""
        if (answered := self.counts()) is None:
            return weights
        kept = weights * answered.to(weights)
        total = kept.sum(-1, keepdim=True)
        return torch.where(total > 0, kept / total.clamp(min=1e-12), weights)

    def equal_weights(self) -> Tensor:
        """The same weight for every teacher that has an answer to the text; rows sum to one. [B, N] float32"""
        logits = self.teachers[0].logits
        return self.weighed(logits.new_full((len(logits), len(self.teachers)), 1 / len(self.teachers)))

    def to_batch(self) -> dict[str, Any]:
        """Nested dicts and lists of tensors, which loaders and `accelerate` can move between devices."""
        teachers = [{k: v for k, v in vars(t).items() if v is not None} for t in self.teachers]
        rest = {k: v for k, v in vars(self).items() if k not in ("teachers", "questions")}
        asked = {"questions": [rows.to_batch() for rows in self.questions]} if self.questions else {}
        return {"teachers": teachers} | {key: value for key, value in rest.items() if value is not None} | asked

    def in_float64(self) -> Rows:
        """The same rows where float64 can be computed: on the CPU, if they are on a device that cannot."""
        device = self.teachers[0].logits.device if self.teachers else None
        if device is None or has_float64(device):
            return self
        return Rows.from_batch(_on_cpu(self.to_batch()))

    @classmethod
    def from_batch(cls, batch: Mapping[str, Any]) -> Rows:
        """The inverse of `to_batch`."""
        teachers = tuple(TeacherRows(**t) for t in batch["teachers"])
        questions = tuple(cls.from_batch(rows) for rows in batch.get("questions", ()))
        rest = {key: value for key, value in batch.items() if key not in ("teachers", "questions")}
        return cls(teachers, **rest, questions=questions)


def has_float64(device: torch.device) -> bool:
    """Whether a device computes in float64. Apple's Metal (mps) does not: it refuses such a tensor."""
    return device.type != "mps"


def _on_cpu(part: Any) -> Any:
    if isinstance(part, Tensor):
        return part.cpu()
    if isinstance(part, dict):
        return {key: _on_cpu(value) for key, value in part.items()}
    return type(part)(_on_cpu(value) for value in part) if isinstance(part, (list, tuple)) else part


class Source(Protocol):
    """A source of rows: the store, or teachers in memory. Indices are positions in one table of texts."""

    def __len__(self) -> int: ...

    def rows(self, indices: Sequence[int] | Tensor) -> Rows: ...


@dataclass(frozen=True)
class Sample:
    """Some texts of a source. `positions`: [n] int64."""

    source: Source
    positions: Tensor

    def __len__(self) -> int:
        return len(self.positions)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = torch.as_tensor(indices)
        return self.source.rows(self.positions[at])


def sample(source: Source, size: int, seed: int = 0) -> Sample:
    """At most `size` texts, sampled without replacement, in their order. All texts if there are no more."""
    return Sample(source, torch.from_numpy(sampled_positions(len(source), size, seed)).sort().values)


def chunks(source: Source, size: int = 1024) -> Iterator[Rows]:
    """All rows of a source in order, `size` at a time. A repeated text is repeated here as well."""
    for start in range(0, len(source), size):
        yield source.rows(range(start, min(start + size, len(source))))


@dataclass(frozen=True)
class LabelsOnly:
    """A source with true labels and without teachers. `labels`: [n] int64."""

    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        return Rows((), self.labels[torch.as_tensor(indices)])


@dataclass(frozen=True)
class QuestionSources:
    """The sources of several questions about the same texts as one: each row has the rows of all questions."""

    sources: tuple[Source, ...]

    def __len__(self) -> int:
        return len(self.sources[0])

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        return Rows((), questions=tuple(source.rows(indices) for source in self.sources))
