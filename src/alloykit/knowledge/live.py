"""Teachers kept in memory: token states are too large to store, so methods that compare them get them batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.alignment import Tokens, alignment, spans_of
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.rows import Rows
from alloykit.teachers.attention import AttentionScores
from alloykit.teachers.teacher import Teacher


class LiveKnowledge:
    """A `Source`: what the store says of each text, and token states of some layers, computed when they are asked for.

    `names`: all teachers, in the store's order; `teachers`, `layers`: by name, those that are in memory and their layers, 0 being
    the embeddings. `tokenizer`, `max_length`: the student's, whose tokens the states are brought to. `scores`: attention scores of the
    layers above the embeddings too.
    """

    def __init__(
        self,
        stored: StoredKnowledge,
        names: Sequence[str],
        teachers: Mapping[str, Teacher],
        layers: Mapping[str, Sequence[int]],
        texts: Texts,
        tokenizer: Any,
        max_length: int,
        *,
        scores: bool = False,
    ) -> None:
        self.stored, self.names, self.teachers, self.layers = stored, list(names), dict(teachers), dict(layers)
        self.texts, self.tokenizer, self.max_length, self.scores = texts, tokenizer, max_length, scores
        self._columns = ["text", "text_pair"] if texts.is_pair else ["text"]

    def __len__(self) -> int:
        return len(self.stored)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        known = self.stored.rows(indices)
        shown = self.texts.table.take([int(i) for i in indices], self._columns)
        text, pair = shown["text"], shown.get("text_pair")
        own = spans_of(self.tokenizer, text, pair, self.max_length)
        found = [
            replace(said, **self._asked(name, text, pair, own)) if name in self.teachers else said
            for name, said in zip(self.names, known.teachers, strict=True)
        ]
        return replace(known, teachers=tuple(found))

    @torch.no_grad()  # no inference mode: these states enter layers that learn
    def _asked(self, name: str, text: list[str], pair: list[str | None] | None, own: list[Tokens]) -> dict[str, Any]:
        teacher, layers = self.teachers[name], self.layers[name]
        theirs = spans_of(teacher.tokenizer, text, pair, teacher.max_length)
        batch = teacher.batch(teacher.encode(text, pair))
        watched = AttentionScores()
        with watched if self.scores else nullcontext():
            hidden = teacher.model(**batch, output_hidden_states=True).hidden_states
        states = [hidden[layer].float() for layer in layers]
        scores = [watched.of(teacher.model)[layer - 1].float() for layer in layers if layer] if self.scores else []
        mask = batch["attention_mask"].bool()
        left = (self.tokenizer.padding_side == "left", teacher.tokenizer.padding_side == "left")
        if left[0] != left[1] or [t.ids for t in own] != [t.ids for t in theirs]:
            sizes = (max(len(t.ids) for t in own), batch["input_ids"].shape[1])
            weights = alignment(own, theirs, sizes, left).to(teacher.device)
            real = mask[:, None, :, None] & mask[:, None, None, :]
            states = [weights @ s for s in states]
            scores = [weights[:, None] @ s.masked_fill(~real, 0) @ weights[:, None].mT for s in scores]
            mask = weights.sum(-1) > 0
        found = {"token_states": tuple(states), "token_mask": mask}
        return found | ({"attention_scores": tuple(scores)} if self.scores else {})
