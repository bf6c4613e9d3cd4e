"""A source with teachers in memory. Token states are too large for the store, so they are computed batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.online.token_alignment import alignment, spans_of
from alloykit.knowledge.online.token_state_cache import States, TokenStateCache, pad_states, unpad_states
from alloykit.models.attention import AttentionScores
from alloykit.models.token_states import check_each_token, layers_of
from alloykit.outputs import Rows, Source, TeacherRows
from alloykit.progress import bar, log_line

BATCH, WINDOW = 32, 1_000  # texts that are read at a time; texts that are sorted by length


class OnlineSource:
    """A `Source` with the stored outputs of each text, and token states of some layers, from a cache or computed on demand.

    `names`: all teachers, in the store's order; `teachers`, `layers`: by name, those that are in memory (models of transformers) and their layers, 0 being
    the embeddings. `tokenizer`, `max_length`: the student's, whose tokens the states are brought to. `scores`: attention scores of the
    layers above the embeddings too.
    """

    def __init__(
        self,
        stored: Source,
        names: Sequence[str],
        teachers: Mapping[str, Any],
        layers: Mapping[str, Sequence[int]],
        texts: Texts,
        tokenizer: Any,
        max_length: int,
        *,
        scores: bool = False,
    ) -> None:
        self.stored, self.names, self.teachers, self.layers = stored, list(names), dict(teachers), dict(layers)
        self.texts, self.tokenizer, self.max_length, self.scores = texts, tokenizer, max_length, scores
        self._columns = texts.text_columns
        self.token_state_cache = TokenStateCache()

    def __len__(self) -> int:
        return len(self.stored)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        known, places = self.stored.rows(indices), [int(i) for i in indices]
        found = [
            _joined(outputs, self._states(name, places)) if name in self.teachers else outputs
            for name, outputs in zip(self.names, known.teachers, strict=True)
        ]
        return replace(known, teachers=tuple(found))

    def keep(self, positions: Sequence[int]) -> None:
        """Read these texts now, as many as there is room for, so that `rows` need not ask teachers on a CPU every time.

        They are read in advance, and not on demand, so that a resumed run computes the same numbers in the same batches.
        """
        asked = [n for n, t in self.teachers.items() if t.device.type == "cpu"]
        with bar("token states", len(positions) * len(asked), "reads") as advance:
            for batch in self._batches(positions) if asked else ():
                for name in asked:
                    texts = self._each(name, batch)
                    if not all(
                        self.token_state_cache.put((name, i), states) for i, states in zip(batch, texts, strict=True)
                    ):
                        log_line(
                            f"no room for more token states than those of {len(self.token_state_cache.places) // len(asked):,} texts: the others' "
                            "are computed in every epoch (TMPDIR may name a folder with more room)"
                        )
                        return
                    advance(len(batch))

    def _batches(self, positions: Sequence[int]) -> Iterator[list[int]]:
        """Batches of texts with similar lengths."""
        for start in range(0, len(positions), WINDOW):
            window = [int(i) for i in positions[start : start + WINDOW]]
            shown = self.texts.table.take(window, self._columns)
            lengths = [sum(map(len, filter(None, parts))) for parts in zip(*shown.values(), strict=True)]
            order = sorted(range(len(window)), key=lengths.__getitem__)
            yield from ([window[k] for k in order[n : n + BATCH]] for n in range(0, len(order), BATCH))

    @property
    def _pads_left(self) -> bool:
        return bool(self.tokenizer.padding_side == "left")

    def _states(self, name: str, places: list[int]) -> States:
        found = {i: states for i in places if (states := self.token_state_cache.get((name, i)))}
        if not found and not self.teachers[name].one_length:
            return self._computed(name, places)[0]
        if missing := [i for i in dict.fromkeys(places) if i not in found]:
            found |= zip(missing, self._each(name, missing), strict=True)
        return pad_states([found[i] for i in places], self._pads_left)

    def _each(self, name: str, places: list[int]) -> list[States]:
        """The states of each text by itself. A teacher whose answers change with padding reads one text after another."""
        batches = [[i] for i in places] if self.teachers[name].one_length else [places]
        return [text for batch in batches for text in unpad_states(*self._computed(name, batch), self._pads_left)]

    @torch.no_grad()  # not inference_mode: layers that are trained read these states
    def _computed(self, name: str, places: list[int]) -> tuple[States, list[int]]:
        """The states of a padded batch, and the number of the student's tokens of each text."""
        teacher, layers = self.teachers[name], self.layers[name]
        shown = self.texts.table.take(places, self._columns)
        text, pair = shown["text"], shown.get("text_pair")
        student_tokens = spans_of(self.tokenizer, text, pair, self.max_length)
        teacher_tokens = spans_of(teacher.tokenizer, text, pair, teacher.max_length)
        batch = teacher.batch(teacher.encode(text, pair))
        watched = AttentionScores()
        with watched if self.scores else nullcontext():
            hidden = layers_of(teacher.model(**batch, output_hidden_states=True))
        states = [hidden[layer].float() for layer in layers]
        scores = [watched.of(teacher.model)[layer - 1].float() for layer in layers if layer] if self.scores else []
        mask = batch["attention_mask"].bool()
        for each in states:
            check_each_token(each, mask, f"teacher '{name}'")
        left = (self._pads_left, teacher.tokenizer.padding_side == "left")
        if left[0] != left[1] or [t.ids for t in student_tokens] != [t.ids for t in teacher_tokens]:
            sizes = (max(len(t.ids) for t in student_tokens), batch["input_ids"].shape[1])
            weights = alignment(student_tokens, teacher_tokens, sizes, left).to(teacher.device)
            real = mask[:, None, :, None] & mask[:, None, None, :]
            states = [weights @ s for s in states]
            scores = [weights[:, None] @ s.masked_fill(~real, 0) @ weights[:, None].mT for s in scores]
            mask = weights.sum(-1) > 0
        return States(mask, tuple(states), tuple(scores)), [len(tokens.ids) for tokens in student_tokens]


def _joined(outputs: TeacherRows, states: States) -> TeacherRows:
    return replace(
        outputs,
        token_states=states.tokens,
        token_mask=states.mask,
        attention_scores=states.scores if states.scores else None,
    )
