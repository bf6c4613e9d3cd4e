"""One loaded classifier behind `predict`, `Run.predict` and `evaluate`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.device import pick_device
from alloykit.models.export import temperature_of
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.loading import load_classifier
from alloykit.models.tokens import encode, usable_length
from alloykit.progress import bar

TOKENS_PER_BATCH = 8192


class Predictor:
    """A classifier that reads texts. It knows its labels, how many tokens it reads of a text, its temperature and its device."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int | None = None) -> None:
        """model: on the device that is to compute. max_length: tokens per text; as many as the folder says if not given."""
        self.model, self.tokenizer = model.eval(), tokenizer
        self.lean = LeanLastLayer(model)
        self.max_length = usable_length(model, tokenizer, max_length)
        self.temperature = temperature_of(model.config)
        self.labels = tuple(model.config.id2label[i] for i in range(model.config.num_labels))

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        device: str = "auto",
        *,
        trust_remote_code: bool = False,
    ) -> Predictor:
        """The classifier of a model folder, on the accelerator if there is one. AlloyError if the folder holds none."""
        folder = Path(folder)
        if not os.path.exists(folder / "config.json"):
            raise AlloyError(
                expected="a run folder with a student, or a model folder",
                got=f"'{str(folder)[:200]}'" + ("" if os.path.exists(folder) else ", which does not exist"),
                hint="Finish the run with `alloykit amalgamate`, or name the folder that holds config.json.",
            )
        model, tokenizer = load_classifier(ModelSpec(model=str(folder), trust_remote_code=trust_remote_code))
        return cls(model.to(pick_device(device)), tokenizer, max_length)

    @property
    def device(self) -> torch.device:
        found: torch.device = self.model.device
        return found

    def probabilities(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        what: str = "student",
        *,
        calibrated: bool = True,
    ) -> Tensor:
        """softmax(logits / T), [n, C] float32 on the CPU, in the order of the texts. T: the temperature that was fitted when the
        student was made; 1 for other classifiers, and where `calibrated` is False. It changes no label.

        pairs: the second text of each, None for a text that has none. AlloyError for anything but texts.
        """
        for name, given in (("texts", texts), ("pairs", pairs)):
            check_strings(given, name, none_allowed=name == "pairs")
        if pairs is not None and len(pairs) != len(texts):
            raise AlloyError(
                expected=f"a second text, or None, for each of {len(texts)} texts", got=f"{len(pairs)}", hint=""
            )
        encodings = encode(self.tokenizer, texts, pairs, self.max_length)
        temperature = self.temperature if calibrated else 1.0

        def run(batch: dict[str, Tensor]) -> Tensor:
            with self.lean:
                found: Tensor = (self.model(**batch).logits.float() / temperature).softmax(-1)[None]
            return found

        with bar(what, len(texts)) as advance:
            return forward_texts(
                run, encodings, self.model, self.tokenizer, device=self.device, width=len(self.labels),
                budget=Budget(TOKENS_PER_BATCH), name=what, advance=advance,
            )[0]  # fmt: skip


def check_strings(texts: Any, name: str = "texts", *, none_allowed: bool = False) -> None:
    """AlloyError unless it is a sequence of strings; one string alone is none."""
    if texts is None and none_allowed:
        return
    if isinstance(texts, (str, bytes)):
        raise AlloyError(
            expected=f"a list of {name}", got=f"one {type(texts).__name__}", hint='Put it into a list: ["a text"].'
        )
    if not isinstance(texts, Sequence) and not hasattr(texts, "__getitem__"):
        raise AlloyError(expected=f"a list of {name}", got=f"a {type(texts).__name__}", hint='For instance ["a text"].')
    for i, text in enumerate(texts):
        if not isinstance(text, str) and not (none_allowed and text is None):
            raise AlloyError(
                expected=f"a string at each place of the {name}",
                got=f"a {type(text).__name__} at position {i}",
                hint="Leave out what is missing.",
            )
