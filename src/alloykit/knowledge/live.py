"""Teachers kept in memory: token states are too large to store, so methods that compare them get them batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.alignment import Tokens, alignment, spans_of
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.rows import Rows, TeacherRows
from alloykit.teachers.teacher import Teacher


class LiveKnowledge:
    """A `Source`: what the store says of each text, and the token states of some layers, computed when they are asked for.

    `layers`: per teacher, counted from 1. `tokenizer`, `max_length`: the student's, whose tokens the states are brought to.
    """

    def __init__(
        self,
        stored: StoredKnowledge,
        teachers: Sequence[Teacher],
        layers: Sequence[Sequence[int]],
        texts: Texts,
        tokenizer: Any,
        max_length: int,
    ) -> None:
        self.stored, self.teachers, self.layers, self.texts = stored, list(teachers), list(layers), texts
        self.tokenizer, self.max_length = tokenizer, max_length
        self._columns = ["text", "text_pair"] if texts.is_pair else ["text"]

    def __len__(self) -> int:
        return len(self.stored)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        known = self.stored.rows(indices)
        shown = self.texts.table.take([int(i) for i in indices], self._columns)
        text, pair = shown["text"], shown.get("text_pair")
        own = spans_of(self.tokenizer, text, pair, self.max_length)
        found = []
        for said, teacher, layers in zip(known.teachers, self.teachers, self.layers, strict=True):
            states, mask = self._states(teacher, layers, text, pair, own)
            found.append(
                TeacherRows(
                    said.logits,
                    said.probability_sum,
                    said.passes,
                    said.uncertainty,
                    said.pooled_states,
                    tuple(states),
                    mask,
                )
            )
        return Rows(tuple(found), known.labels)

    @torch.no_grad()  # no inference mode: these states enter layers that learn
    def _states(
        self, teacher: Teacher, layers: Sequence[int], text: list[str], pair: list[str | None] | None, own: list[Tokens]
    ) -> tuple[list[Tensor], Tensor]:
        theirs = spans_of(teacher.tokenizer, text, pair, teacher.max_length)
        batch = teacher.batch(teacher.encode(text, pair))
        hidden = teacher.model(**batch, output_hidden_states=True).hidden_states
        if [t.ids for t in own] == [t.ids for t in theirs]:
            return [hidden[layer].float() for layer in layers], batch["attention_mask"].bool()
        sizes = (max(len(t.ids) for t in own), batch["input_ids"].shape[1])
        weights = alignment(own, theirs, sizes).to(teacher.device)
        return [weights @ hidden[layer].float() for layer in layers], weights.sum(-1) > 0
