"""NLI models as zero-shot teachers: which of the labels' hypotheses follows from the text (Yin et al. 2019, arXiv:1909.00161)?

For a text x and a label l with the hypothesis h_l = "This text is about l.", z_l is the model's entailment logit of the pair (x, h_l), and

    p(l | x) = softmax over the labels of z

The z_l are the teacher's logits. Their log-sum-exp, its energy, is high if at least one hypothesis follows from the text and low if none
does, which probabilities over the labels no longer show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, model_validator

from alloykit.blocks import ModelSpec, PathText
from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.models.forward import Advance
from alloykit.models.loading import load_config, load_tokenizer
from alloykit.models.location import model_identity
from alloykit.names import clean_names, quoted, unknown_name
from alloykit.teachers.forward import plain_pass
from alloykit.teachers.hugging_face import HuggingFaceInfo, HuggingFaceSpec, HuggingFaceTeacher
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, TeacherSpec

PLACE = "{}"


class ZeroShotSpec(TeacherSpec):
    """A model of natural language inference (NLI), which answers with labels that it was not trained for."""

    key: ClassVar[str] = "zero_shot"

    zero_shot: PathText
    """A folder or a hub id. One of its classes is entailment."""
    labels: list[str]
    """Its labels."""
    hypothesis: str = "This text is about {}."
    """The sentence that is compared with each text; {} stands for the label."""
    names: dict[str, str] = Field(default_factory=dict)
    """What stands for {} instead of the label, {tech_support: "a technical problem"}."""
    entailment: str | None = None
    """The name of the model's entailment class, if its name does not begin with "entail"."""
    revision: str | None = None
    """Commit, tag or branch on the hub; the newest commit if not given. The run folder's recipe has the commit."""

    @model_validator(mode="after")
    def _one_place(self) -> ZeroShotSpec:
        if self.hypothesis.count(PLACE) != 1:
            raise ValueError('`hypothesis` is a sentence with one {}, such as "This text is about {}."')
        return self

    @property
    def model_name(self) -> str | None:
        return self.zero_shot

    def describe(self, name: str) -> ZeroShotInfo:
        labels = clean_names(self.labels, f"teacher '{name}'")
        if len(labels) < 2:
            raise AlloyError(
                expected=f"at least 2 labels of teacher '{name}'", got=quoted(labels) or "none",
                hint="Name them: `labels: [bug, login]`.",
            )  # fmt: skip
        for label in self.names:
            if label not in labels:
                raise unknown_name(f"a label of teacher '{name}' in `names:`", label, labels)
        config, commit = load_config(ModelSpec(model=self.zero_shot, revision=self.revision))
        classes = tuple(str(config.id2label[i]) for i in range(config.num_labels))
        return ZeroShotInfo(name, self, labels, _entailment(self, classes, name), commit, config, classes)


@dataclass(frozen=True)
class ZeroShotInfo(TeacherInfo):
    """`entailment`: the number of the entailment class. `commit`: of a hub model. `config`, `classes`: of the NLI model."""

    spec: ZeroShotSpec
    entailment: int
    commit: str | None
    config: Any
    classes: tuple[str, ...]

    @property
    def gives(self) -> Gives:
        return Gives(logits=True)

    @property
    def revision(self) -> str | None:
        return self.commit

    @property
    def pinned(self) -> TeacherSpec:
        return self.spec.model_copy(update={"revision": self.commit, "name": self.name})

    @property
    def hypotheses(self) -> list[str]:
        """The hypothesis of each label."""
        return [self.spec.hypothesis.replace(PLACE, self.spec.names.get(label, label)) for label in self.labels]

    @property
    def nli(self) -> HuggingFaceInfo:
        """The NLI model, as a classifier of pairs."""
        spec = HuggingFaceSpec(model=self.spec.zero_shot, revision=self.commit)
        return HuggingFaceInfo(self.name, spec, self.classes, self.commit, self.config)

    @property
    def most_tokens(self) -> int | None:
        return self.nli.most_tokens

    def identity(self) -> str:
        return digest([model_identity(self.spec.zero_shot, self.commit), self.hypotheses, self.entailment])

    def load_tokenizer(self) -> Any:
        return load_tokenizer(self.nli.model_spec)

    def load(self, reading: Reading) -> ZeroShotTeacher:
        return ZeroShotTeacher(self, self.nli.load(reading))


class ZeroShotTeacher(Answerer):
    """A loaded NLI model, which reads every text once with each label's hypothesis."""

    def __init__(self, info: ZeroShotInfo, nli: HuggingFaceTeacher) -> None:
        """AlloyError for a hypothesis that is so long that it would be cut."""
        self.info: ZeroShotInfo = info
        self.nli, self.max_length = nli, nli.max_length
        for label, hypothesis in zip(info.labels, info.hypotheses, strict=True):
            tokens = len(nli.tokenizer(hypothesis)["input_ids"])
            if tokens > self.max_length // 2:  # of a pair that is too long, the longer text is cut
                raise AlloyError(
                    expected=f"hypotheses of at most {self.max_length // 2} tokens, half of what teacher '{info.name}' reads",
                    got=f"{tokens} tokens for the label '{label}'",
                    hint="Shorten `hypothesis` or `names`, or raise `training: {max_length: …}`.",
                )

    @property
    def made_of(self) -> dict[str, Any]:
        classes = {"classes": len(self.info.labels), "entailment": self.info.entailment}
        return self.nli.made_of | classes | {"hypotheses": digest(self.info.hypotheses)}

    @property
    def about(self) -> dict[str, Any]:
        return self.nli.about

    def prepare(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[list[Any]]:
        """For each text the tokens of its pair with each hypothesis. Where texts are pairs, both are read, with a line break between them."""
        seconds = pairs if pairs is not None else [None] * len(texts)
        whole = [t if p is None else f"{t}\n{p}" for t, p in zip(texts, seconds, strict=True)]
        n = len(self.info.labels)
        encoded = self.nli.encode([text for text in whole for _ in range(n)], self.info.hypotheses * len(whole))
        return [encoded[i : i + n] for i in range(0, len(encoded), n)]

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        n, read = len(self.info.labels), 0

        def advance_texts(pairs: int) -> None:
            nonlocal read
            advance((read + pairs) // n - read // n)
            read += pairs

        logits = plain_pass(self.nli, [pair for text in prepared for pair in text], self.nli.budget, advance_texts)
        return Outputs(logits[:, self.info.entailment].reshape(len(prepared), n).clone())


def _entailment(spec: ZeroShotSpec, classes: Sequence[str], name: str) -> int:
    """The number of the entailment class. AlloyError if there is not exactly one."""
    if spec.entailment is not None:
        if spec.entailment not in classes:
            raise unknown_name(f"a class of the NLI model of teacher '{name}'", spec.entailment, classes)
        return classes.index(spec.entailment)
    found = [i for i, each in enumerate(classes) if each.strip().lower().startswith("entail")]
    if len(found) != 1:
        raise AlloyError(
            expected=f"an NLI model with the classes entailment, neutral and contradiction for teacher '{name}'",
            got=f"'{spec.zero_shot}' with the classes {quoted(classes)}",
            hint="Take a model for natural language inference. If it is one, name its class: `entailment: LABEL_2`.",
        )
    return found[0]
