"""What a teacher is: it answers texts with probabilities over its named labels. It may give more (`Gives`).

Three classes make a kind of teacher, in one file of this package, and one line in `kinds.py` adds it:

    TeacherSpec    its entry in the recipe's `teachers:`
    TeacherInfo    what is known without loading it: name, labels, what it gives, and what identifies it
    Answerer       the teacher loaded, which answers texts

The store keeps logits. Those of a teacher that gives probabilities only are log-probabilities (`probabilities_as_logits`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field
from torch import Tensor

from alloykit.blocks import Block
from alloykit.methods.inputs import Gives
from alloykit.models.compute_format import ComputeFormat
from alloykit.models.forward import Advance
from alloykit.models.long_texts import LongTexts
from alloykit.names import short

if TYPE_CHECKING:
    from alloykit.data import Texts

FLOOR = 1e-6  # the smallest probability that is stored


class TeacherSpec(Block):
    """One entry of the recipe's `teachers:`. A subclass has a field of the name `key`, which says which kind of teacher it is."""

    key: ClassVar[str]

    name: str | None = Field(None, max_length=100)
    """Its name in reports; the last part of its source if not given."""

    @property
    def source(self) -> str:
        """Where the teacher comes from: a folder, a file, a function. Users see it."""
        return str(getattr(self, self.key))

    @property
    def model_name(self) -> str | None:
        """The folder or hub id of a model, whose card may state a licence; None for other kinds."""
        return None

    @property
    def bound(self) -> str | None:
        """Why only the process that reads the recipe can load this teacher; None if every process that sees its files can."""
        return None

    @property
    def service(self) -> str | None:
        """Where this entry sends texts and a key, in words; None if it sends nothing. A stranger's run folder cannot grant it."""
        return None

    @abstractmethod
    def describe(self, name: str) -> TeacherInfo:
        """Read what is known without loading the teacher. AlloyError for a teacher that cannot be used. name: unique in the recipe."""


@dataclass(frozen=True)
class Reading:
    """How a teacher reads texts. A kind of teacher ignores the settings that it does not have.

    `folder`: where it may keep files of its own between runs, such as answers that must not be asked for twice; None in a remote
    store. `salt`: of the ids of texts in such files. `sampler`: of Monte-Carlo passes, in place of the teacher's own (teachers/mc_dropout.py).
    """

    max_length: int = 128
    long_texts: LongTexts | None = None
    device: str = "auto"
    compute_format: ComputeFormat = field(default_factory=ComputeFormat)
    tokens_per_batch: int = 4096
    dropout: float | None = None
    sampler: Any = None
    folder: str | None = None
    salt: str = field(default="", repr=False)


@dataclass(frozen=True)
class TeacherInfo(ABC):
    """What is known of a teacher without loading it. `labels`: in the order of its outputs."""

    name: str
    spec: TeacherSpec
    labels: tuple[str, ...]

    probed: ClassVar[bool] = False
    """Whether its content cannot be hashed. Then it answers the texts of `probe_texts.py` before each sweep, and another answer than before is
    an error."""
    costly: ClassVar[bool] = False
    """Whether every question costs something. Then `plan` asks none, and a finished sweep asks no probe texts."""

    @property
    def tolerance(self) -> float:
        """By how much a probability of a probe text may differ."""
        return 1e-3

    @property
    def gives(self) -> Gives:
        """What it gives beside probabilities."""
        return Gives()

    @property
    def revision(self) -> str | None:
        """The commit of a hub model."""
        return None

    @property
    def most_tokens(self) -> int | None:
        """How many tokens of a text it can read; None if there is no such limit."""
        return None

    def reads(self, max_length: int, long_texts: LongTexts | None) -> tuple[int, LongTexts]:
        """Tokens per text, and what it reads of a longer one, if the recipe asks for these. A kind without tokens ignores the second."""
        return max_length, "head"

    @property
    def pinned(self) -> TeacherSpec:
        """The entry for the run folder's recipe."""
        return self.spec.model_copy(update={"name": self.name})

    def load_tokenizer(self) -> Any:
        """Its tokenizer, for statistics about the texts; None for a teacher without one."""
        return None

    def with_texts(self, texts: Texts) -> TeacherInfo:
        """The same, when the recipe's texts have been read: for a teacher that knows texts by their row."""
        return self

    @property
    def rows_of_texts(self) -> str | None:
        """SHA-256 of the rows of the recipe's texts, for a teacher that knows texts by their row: with other texts, the same teacher gives other
        answers. None for other teachers, and before `with_texts`."""
        return None

    def estimate(self, texts: int) -> dict[str, float]:
        """What the answers to so many texts would cost, for a costly teacher: numbers for `plan`."""
        return {}

    @abstractmethod
    def identity(self) -> str:
        """What identifies the teacher: the SHA-256 of its files, or of what the user declares. Loads nothing."""

    @abstractmethod
    def load(self, reading: Reading) -> Answerer:
        """The teacher, ready to answer. AlloyError."""


@dataclass(frozen=True)
class Outputs:
    """A teacher's outputs for n texts.

    `logits`: [n, C_i] float32: logits, or log-probabilities where it gives no logits. A text without an answer has NaN in its whole row
    (`Gives.every_text` is False then). `pooled`: [layers, n, d_i] float16, the mean of the token states per layer that was asked for.
    """

    logits: Tensor
    pooled: Tensor | None = None


class Answerer(ABC):
    """A loaded teacher. The sweep calls `prepare` in another thread, for the texts of the next shard."""

    info: TeacherInfo

    @property
    def made_of(self) -> dict[str, Any]:
        """What its outputs depend on. The store refuses to mix outputs of which one of these values differs."""
        rows = self.info.rows_of_texts
        made_of = {"identity": self.info.identity(), "classes": len(self.info.labels)}
        return made_of if rows is None else made_of | {"rows_of_texts": rows}

    @property
    def described(self) -> str:
        """What it is, in words."""
        return f"{self.info.spec.key}: {short(self.info.spec.source)}"

    def prepare(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> Sequence[Any]:
        """What `answer` needs of each text: tokens, or the text itself. One entry a text."""
        return list(zip(texts, pairs if pairs is not None else [None] * len(texts), strict=True))

    @abstractmethod
    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        """The outputs for prepared texts. `layers`: those whose pooled states are wanted (only of a teacher that gives states)."""

    def probe(self, texts: Sequence[str]) -> Outputs:
        """The outputs for the probe texts."""
        return self.answer(self.prepare(texts), lambda n: None)

    def sample(self, prepared: Sequence[Any], passes: int, seed: int, advance: Advance) -> Tensor:
        """Probabilities of Monte-Carlo passes, [passes, n, C_i] float32; the same for the same seed. Only of a teacher that gives passes."""
        raise NotImplementedError

    @property
    def sampler(self) -> str:
        """The name of the sampler, for the store."""
        raise NotImplementedError

    @property
    def about(self) -> dict[str, Any]:
        """Numbers for the receipt of each file of the store: how the outputs were computed."""
        return {}


def probabilities_as_logits(probabilities: Tensor) -> Tensor:
    """The logits of a teacher that gives probabilities only: log p, [n, C_i] float32, rows of exp sum to one.

    Probabilities are divided by their sum; those below 1e-6 become 1e-6 first. A row of NaN, a text without an answer, stays NaN.
    """
    p = probabilities.double()
    p = (p / p.sum(-1, keepdim=True)).clamp(min=FLOOR)
    return (p / p.sum(-1, keepdim=True)).log().float()
