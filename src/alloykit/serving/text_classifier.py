"""What every loaded classifier does with texts, in PyTorch or in another runtime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from alloykit.models.folder import NONE_OF_THESE
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.long_texts import Chunks, LongTexts, encode_long
from alloykit.models.questions import QuestionPart, probabilities_by_question
from alloykit.progress import bar
from alloykit.serving.check_texts import check_texts_and_pairs
from alloykit.serving.none_of_these_file import load_none_of_these
from alloykit.serving.prediction import Prediction
from alloykit.stats.none_of_these import NoneOfThese


class TextClassifier(ABC):
    """A loaded classifier: its labels, its maximum number of tokens per text, how it reads longer ones, and its temperature."""

    labels: tuple[str, ...]
    max_length: int
    tokenizer: Any
    temperature: float
    long_texts: LongTexts
    questions: tuple[QuestionPart, ...] = ()
    """The parts of its labels, of a student that answers several questions; empty for other classifiers. Its probabilities sum to one over each question."""
    multi_label: bool = False
    """Whether its labels do not exclude each other. The probability of each is then a sigmoid."""
    estimated_accuracy: dict[str, float | None]
    """Label → the accuracy of its answers as the run estimated it, or None; empty for a classifier without an estimate."""
    folder: Path | None
    """Where it is from; None for one in memory."""
    tokens_per_batch: ClassVar[int]
    one_length: bool = False
    """Whether it reads only texts of the same length together, because padding changes its answers."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where it computes."""

    @property
    @abstractmethod
    def states_width(self) -> int | None:
        """d, the size of what the classification head reads; None if `forward` cannot give it."""

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        """The parts of its labels, one for each question. Of a classifier for one question: all labels, under the name ""."""
        return self.questions or (QuestionPart("", self.labels, 0, self.temperature, self.multi_label),)

    @property
    def checked_model(self) -> Any:
        """The model whose vocabulary token ids must fit; None if the runtime checks them."""
        return None

    @abstractmethod
    def forward(self, batch: dict[str, Tensor], states: bool) -> tuple[Tensor, Tensor | None]:
        """A padded batch → logits before temperature and softmax, [B, C] float32, and with `states` what the head reads, [B, d] float32."""

    @property
    def knows_unusual(self) -> bool:
        """Whether it can say how unusual a text is (`none_of_these`)."""
        return self.folder is not None and (self.folder / NONE_OF_THESE).is_file() and bool(self.states_width)

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
        progress: bool = True,
    ) -> Prediction:
        """The probabilities, and with `none_of_these` also how unusual every text is, from one pass. Arguments as for `probabilities`.
        AlloyError for values that are not texts, and for a classifier that cannot say how unusual a text is if it is asked for."""
        if not none_of_these:
            return Prediction(self._read(texts, pairs, name, self._softmax(calibrated), progress=progress))
        fitted = self.fitted_none_of_these
        found = self._read(texts, pairs, name, self._softmax(calibrated), 2, fitted.measures, progress)
        return Prediction(found[:, :-2].contiguous(), fitted.score(found[:, -2:]))

    def with_states(
        self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, name: str = "student"
    ) -> tuple[Tensor, Tensor | None]:
        """The probabilities at temperature 1, [n, C], and what the classification head reads, [n, d], both float32. None for a
        model whose head is not a linear layer."""
        if not (width := self.states_width):
            return self._read(texts, pairs, name, self._softmax(False)), None
        found = self._read(texts, pairs, name, self._softmax(False), width, lambda z: z)
        return found[:, : len(self.labels)].contiguous(), found[:, len(self.labels) :].contiguous()

    @cached_property
    def fitted_none_of_these(self) -> NoneOfThese:
        """What was fitted on the pool. AlloyError if the classifier has none, or a damaged one."""
        return load_none_of_these(self.folder, self.states_width)

    def _softmax(self, calibrated: bool) -> Callable[[Tensor], Tensor]:
        return lambda logits: probabilities_by_question(logits, self.parts, calibrated=calibrated)

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
            more = self.states_width or more  # the states themselves, which are averaged first

        def run(batch: dict[str, Tensor]) -> Tensor:
            logits, states = self.forward(batch, of_states is not None)
            found = finish(logits) if parts is None else logits
            if states is not None and of_states is not None:
                states = states.cpu()
                found = torch.cat([found, (of_states(states) if parts is None else states).to(found)], -1)
            return found[None]

        shown = bar(name, len(encodings), "texts" if parts is None else "parts")
        with shown if progress else nullcontext(lambda n: None) as advance:
            found: Tensor = forward_texts(
                run, encodings, self.checked_model, self.tokenizer, device=self.device, width=len(self.labels) + more,
                budget=Budget(self.tokens_per_batch), name=name, one_length=self.one_length, advance=advance,
            )[0]  # fmt: skip
        if parts is None:
            return found
        # The temperature was fitted to the mean, and `none_of_these` to mean states: so both come after it.
        logits = found[:, : len(self.labels)]
        mean = torch.cat([parts.mean_logits(q.of(logits), multi_label=q.multi_label) for q in self.parts], -1)
        answers = finish(mean)
        if of_states is None:
            return answers
        return torch.cat([answers, of_states(parts.mean(found[:, len(self.labels) :])).to(answers)], -1)
