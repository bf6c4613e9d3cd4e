"""The loaded classifier that `predict`, `Run.predict` and `evaluate` use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.device import pick_device
from alloykit.models.export import temperature_of
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.head_input import HeadInput
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.loading import load_classifier
from alloykit.models.long_texts import Chunks, encode_long, long_texts_of
from alloykit.models.questions import probabilities_by_question, questions_of
from alloykit.models.tokens import usable_length
from alloykit.progress import bar
from alloykit.serving.none_of_these_file import FILE, load_none_of_these
from alloykit.serving.prediction import Prediction
from alloykit.stats.none_of_these import NoneOfThese

TOKENS_PER_BATCH = 8192


class Predictor:
    """A loaded classifier with its labels, its maximum number of tokens per text, its temperature and its device.

    `questions`: the parts of its labels, of a student that answers several questions; empty for other classifiers. Its probabilities then sum
    to one over each question. `multi_label`: its labels do not exclude each other; the probability of each is then a sigmoid.
    """

    def __init__(
        self, model: Any, tokenizer: Any, max_length: int | None = None, folder: str | Path | None = None
    ) -> None:
        """model: on the device that computes. max_length: tokens per text; if not given, the limit in the model's folder. folder:
        where the model is from."""
        self.model, self.tokenizer, self.folder = model.eval(), tokenizer, folder
        self.lean = LeanLastLayer(model)
        self.max_length = usable_length(model, tokenizer, max_length)
        self.temperature = temperature_of(model.config)
        self.long_texts = long_texts_of(model.config)
        self.labels = tuple(model.config.id2label[i] for i in range(model.config.num_labels))
        self.questions = questions_of(model.config)
        self.multi_label = getattr(model.config, "problem_type", None) == "multi_label_classification"

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        device: str = "auto",
        *,
        trust_remote_code: bool = False,
    ) -> Predictor:
        """The classifier in a model folder. AlloyError if there is none."""
        folder = Path(folder)
        if not os.path.exists(folder / "config.json"):
            raise AlloyError(
                expected="a run folder with a student, or a model folder",
                got=f"'{str(folder)[:200]}'" + ("" if os.path.exists(folder) else ", which does not exist"),
                hint="Finish the run with `alloykit amalgamate`, or name the folder that holds config.json.",
            )
        model, tokenizer = load_classifier(ModelSpec(model=str(folder), trust_remote_code=trust_remote_code))
        return cls(model.to(pick_device(device)), tokenizer, max_length, folder)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    @property
    def knows_unusual(self) -> bool:
        """Whether it can say how unusual a text is (`none_of_these`)."""
        return self.folder is not None and (Path(self.folder) / FILE).is_file() and bool(HeadInput(self.model).width)

    def probabilities(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        name: str = "student",
        *,
        calibrated: bool = True,
        progress: bool = True,
    ) -> Tensor:
        """softmax(logits / T), [n, C] float32 on the CPU, in the order of the texts. T: the temperature that was fitted for the
        student; 1 for other classifiers, and if `calibrated` is False. It changes no label.

        pairs: the second text of each text, None for a text without one. name: in messages. progress: show a bar. AlloyError for values that are not texts.
        """
        return self._read(texts, pairs, name, self._softmax(calibrated), progress=progress)

    def logits(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, name: str = "student") -> Tensor:
        """What the classifier computes before temperature and softmax, [n, C] float32 on the CPU. Arguments and AlloyError as in `probabilities`."""
        return self._read(texts, pairs, name, lambda logits: logits)

    def predict(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None = None,
        name: str = "student",
        *,
        calibrated: bool = True,
        none_of_these: bool = False,
    ) -> Prediction:
        """The probabilities, and with `none_of_these` also how unusual every text is, from one pass. Arguments as for `probabilities`.
        AlloyError for values that are not texts, and for a folder without none_of_these.safetensors if it is asked for."""
        if not none_of_these:
            return Prediction(self._read(texts, pairs, name, self._softmax(calibrated)))
        fitted = self.fitted_none_of_these
        found = self._read(
            texts, pairs, name, self._softmax(calibrated), 1, lambda z: fitted.gaussians.distance(z).unsqueeze(-1)
        )
        return Prediction(found[:, :-1].contiguous(), fitted.share(found[:, -1]))

    def with_states(
        self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, name: str = "student"
    ) -> tuple[Tensor, Tensor | None]:
        """The probabilities at temperature 1, [n, C], and what the classification head reads, [n, d], both float32. None for a
        model whose head is not a linear layer."""
        if not (width := HeadInput(self.model).width):
            return self._read(texts, pairs, name, self._softmax(False)), None
        found = self._read(texts, pairs, name, self._softmax(False), width, lambda z: z)
        return found[:, : len(self.labels)].contiguous(), found[:, len(self.labels) :].contiguous()

    @cached_property
    def fitted_none_of_these(self) -> NoneOfThese:
        """What was fitted on the pool. AlloyError if the classifier's folder has none, or a damaged one."""
        if self.folder is None:
            raise AlloyError(
                expected="a classifier from a folder", got="one in memory", hint="Load it with Predictor.load(folder)."
            )
        return load_none_of_these(Path(self.folder), HeadInput(self.model).width)

    def _softmax(self, calibrated: bool) -> Callable[[Tensor], Tensor]:
        if self.questions:
            return lambda logits: probabilities_by_question(logits, self.questions, calibrated=calibrated)
        temperature = self.temperature if calibrated else 1.0
        if self.multi_label:
            return lambda logits: (logits / temperature).sigmoid()
        return lambda logits: (logits / temperature).softmax(-1)

    def _read(
        self,
        texts: Sequence[str],
        pairs: Sequence[str | None] | None,
        name: str,
        finish: Callable[[Tensor], Tensor],
        more: int = 0,
        of_states: Callable[[Tensor], Tensor] | None = None,
        progress: bool = True,
    ) -> Tensor:
        """[n, C + more] float32 on the CPU: finish(logits), and `more` numbers that `of_states` computes on the CPU from what the head reads, [B, d].
        With `long_texts: mean`, logits are those of the mean probabilities, and states are averaged over a text's chunks."""
        check_texts_and_pairs(texts, pairs)
        encodings = encode_long(self.tokenizer, texts, pairs, self.max_length, self.long_texts)
        parts = encodings if isinstance(encodings, Chunks) else None
        if parts is not None and of_states is not None:
            more = HeadInput(self.model).width or more  # the states themselves, which are averaged first

        def run(batch: dict[str, Tensor]) -> Tensor:
            with self.lean, HeadInput(self.model) if of_states else nullcontext() as head:
                logits = self.model(**batch).logits
            found = finish(logits.float()) if parts is None else logits.float()
            if head is not None and of_states is not None:
                states = head.states(logits).cpu()
                found = torch.cat([found, (of_states(states) if parts is None else states).to(found)], -1)
            return found[None]

        shown = bar(name, len(encodings), "texts" if parts is None else "parts")
        with shown if progress else nullcontext(lambda n: None) as advance:
            found: Tensor = forward_texts(
                run, encodings, self.model, self.tokenizer, device=self.device, width=len(self.labels) + more,
                budget=Budget(TOKENS_PER_BATCH), name=name, advance=advance,
            )[0]  # fmt: skip
        if parts is None:
            return found
        # The temperature was fitted to the mean, and `none_of_these` to mean states: so both come after it.
        logits = found[:, : len(self.labels)]
        if self.multi_label or any(q.multi_label for q in self.questions):
            raise AlloyError(
                expected="`long_texts: head`, tail or head_tail for a multi-label classifier",
                got="mean",
                hint="Set `alloykit_long_texts` in its config.json.",
            )
        mean = torch.cat([parts.mean_logits(q.of(logits)) for q in self.questions] or [parts.mean_logits(logits)], -1)
        answers = finish(mean)
        if of_states is None:
            return answers
        return torch.cat([answers, of_states(parts.mean(found[:, len(self.labels) :])).to(answers)], -1)


def check_strings(texts: Any, name: str = "texts", *, none_allowed: bool = False) -> None:
    """AlloyError for anything but a sequence of strings. A single string is not a sequence of strings here."""
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


def check_texts_and_pairs(texts: Any, pairs: Any) -> None:
    """AlloyError unless `texts` are strings and `pairs`, if given, has a string or None for each of them."""
    check_strings(texts, "texts")
    check_strings(pairs, "pairs", none_allowed=True)
    if pairs is not None and len(pairs) != len(texts):
        raise AlloyError(
            expected=f"a second text, or None, for each of {len(texts)} texts", got=f"{len(pairs)}", hint=""
        )
