"""A service as a teacher: a language model with a chat endpoint, a server of classifiers, or anything that answers JSON with JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from threading import Lock
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Discriminator, Field, Tag, model_validator

from alloykit.blocks import effective
from alloykit.data import text_id
from alloykit.digests import digest
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.models.forward import Advance
from alloykit.names import clean_names
from alloykit.progress import log_line
from alloykit.teachers.answer_journal import AnswerJournal, Probabilities
from alloykit.teachers.chat_service import TEMPLATE, ChatService, answer_options
from alloykit.teachers.json_template import mentions, path_steps
from alloykit.teachers.probe_texts import PROBE_TEXTS
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, probabilities_as_logits
from alloykit.teachers.score_service import Read, ScoreService
from alloykit.teachers.service_client import ServiceClient, UnreadableAnswer
from alloykit.teachers.service_settings import ServiceSettings

BAD, BAD_SHARE = 10, 0.1  # so many unreadable answers, and more than this share of all, end the run


def _form(value: Any) -> str:
    return "mapping" if isinstance(value, Mapping) else "plain"


LabelNames = Annotated[
    Annotated[list[str], Tag("plain")] | Annotated[dict[str, str], Tag("mapping")],
    Discriminator(_form),
]
AnswerPaths = Annotated[
    Annotated[str, Tag("plain")] | Annotated[dict[str, str], Tag("mapping")],
    Discriminator(_form),
]


class ServiceSpec(ServiceSettings):
    """A service that is asked over HTTP. Its texts leave this machine if the address does."""

    key: ClassVar[str] = "url"
    without_effect: ClassVar[tuple[str, ...]] = (*ServiceSettings.without_effect, "batch", "tolerance")

    format: Literal["openai", "tei", "json"] = "openai"
    """openai: a chat endpoint compatible with OpenAI's. tei: `predict` of text-embeddings-inference or Hugging Face Inference. json: any
    other service, described by `request` and `answer`."""
    labels: LabelNames
    """Its labels. With `tei` and `json` also {its name: real name}."""
    model: str | None = None
    """With `openai`: the model's name."""
    template: str = TEMPLATE
    """With `openai`: the prompt, with {text} and {options}, the list of labels; also {text_pair}, and {kind}: what the options are, letters or numbers."""
    logprobs: bool = True
    """With `openai`: ask for token probabilities."""
    samples: int | None = Field(None, ge=2, le=100)
    """With `openai`, without token probabilities: the shares of so many answers."""
    certainty: float | None = Field(None, gt=0, le=1)
    """With `openai`, without token probabilities: the probability of the label that is answered."""
    request: dict[str, Any] = Field(default_factory=dict)
    """With `json`: the request, in which "{texts}" becomes the list of texts, or "{text}" one text. Otherwise: further fields of the request."""
    answer: AnswerPaths | None = None
    """With `json`: the path to the labels and scores of each text, such as `predictions[*].scores`, or {labels: PATH, scores: PATH}."""
    values: Literal["probabilities", "logits"] = "probabilities"
    """What the scores are, with `tei` and `json`."""
    batch: int = Field(32, ge=1, le=1024)
    """Texts in one request, with `tei`, and with `json` where the request has "{texts}"."""
    version: str = ""
    """Change it whenever the service gives other answers."""
    tolerance: float = Field(0.1, ge=0, le=1)
    """By how much a probability of the 32 probe texts may differ from the first time. 1 accepts any difference."""

    @model_validator(mode="after")
    def _complete(self) -> ServiceSpec:
        if len(self.labels) < 2:
            raise ValueError("give at least 2 labels")
        if self.max_cost is not None and not self.cost_per_request:
            raise ValueError("`max_cost` needs `cost_per_request`")
        try:
            json.dumps(self.request, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:  # YAML has dates and bytes, which JSON lacks
            raise ValueError(f"`request` has a value that JSON lacks ({error}); put a date in quotes") from None
        if self.format == "openai":
            if self.model is None or isinstance(self.labels, dict):
                raise ValueError("format openai needs `model: NAME` and a list of labels")
            if "{text}" not in self.template or "{options}" not in self.template:
                raise ValueError("`template` needs {text} and {options}")
            if self.samples is not None and self.certainty is not None:
                raise ValueError("give either `samples` or `certainty`, not both")
            if not self.logprobs and self.samples is None and self.certainty is None:
                raise ValueError("`logprobs: false` needs `samples: 5` or `certainty: 0.9`")
        if self.format == "json":
            if self.answer is None or not (mentions(self.request, "{text}") or mentions(self.request, "{texts}")):
                raise ValueError('format json needs `request:` with "{texts}" or "{text}", and `answer:`')
            if isinstance(self.answer, dict) and set(self.answer) != {"labels", "scores"}:
                raise ValueError("give `answer` as a path or as {labels: PATH, scores: PATH}")
            for path in self.answer.values() if isinstance(self.answer, dict) else [self.answer]:
                path_steps(path)
        return self

    def describe(self, name: str) -> ServiceInfo:
        theirs = list(self.labels)
        labels = clean_names(
            list(self.labels.values()) if isinstance(self.labels, dict) else theirs, f"teacher '{name}'"
        )
        if self.format == "openai":
            answer_options(labels)
        return ServiceInfo(name, self, labels)


@dataclass(frozen=True)
class ServiceInfo(TeacherInfo):
    """What is declared; the service is not asked."""

    spec: ServiceSpec

    probed: ClassVar[bool] = True
    costly: ClassVar[bool] = True

    @property
    def tolerance(self) -> float:
        return self.spec.tolerance

    @property
    def gives(self) -> Gives:
        return Gives(every_text=False)

    def identity(self) -> str:
        about = effective(self.spec)
        del about["name"]
        return digest([about, self.labels])

    def estimate(self, texts: int) -> dict[str, float]:
        spec = self.spec
        each = spec.samples if spec.format == "openai" and not spec.logprobs and spec.samples else 1
        size = _format_of(self).batch
        requests = -(-texts // size) + -(-len(PROBE_TEXTS) // size)
        found: dict[str, float] = {"requests": requests, "most_requests": requests * each}
        if spec.cost_per_request is not None:
            found["cost"] = round(requests * spec.cost_per_request, 6)
        if spec.allowed_requests is not None:
            found["allowed_requests"] = spec.allowed_requests
        return found

    def load(self, reading: Reading) -> ServiceTeacher:
        return ServiceTeacher(self, reading)


class ServiceTeacher(Answerer):
    """Asks the service for each text once. Answers are on the disk as soon as they are there."""

    def __init__(self, info: ServiceInfo, reading: Reading) -> None:
        self.info: ServiceInfo = info
        self._journal = AnswerJournal(
            reading.folder, info.identity(), info.name, info.spec.allowed_requests, labels=len(info.labels)
        )
        self._format, self._salt = _format_of(info), reading.salt
        self._lock, self._readable, self._unreadable, self._example = Lock(), 0, 0, ""

    def probe(self, texts: Sequence[str]) -> Outputs:
        """Asked at most once a day: a run that continues on the same day does not pay for them again."""
        return self._answers(self.prepare(texts), lambda n: None, f" probe {time.strftime('%Y-%m-%d', time.gmtime())}")

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        return self._answers(prepared, advance)

    def _answers(self, prepared: Sequence[Read], advance: Advance, mark: str = "") -> Outputs:
        keys = [text_id(*read, self._salt) + mark for read in prepared]
        asked = {key: read for key, read in zip(keys, prepared, strict=True) if key not in self._journal}
        advance(len(prepared) - len(asked))
        unread = self._ask(asked, advance) if asked else set[str]()
        lacking = [float("nan")] * len(self.info.labels)
        rows = [None if key in unread else self._journal[key] for key in keys]
        return Outputs(probabilities_as_logits(torch.tensor([row or lacking for row in rows], dtype=torch.float64)))

    def _ask(self, asked: Mapping[str, Read], advance: Advance) -> set[str]:
        """Ask and record. Returns the keys of texts whose answers cannot be read: they are asked again by a later run. AlloyError."""
        spec, unread, bad = self.info.spec, set[str](), self._unreadable
        size, keys = self._format.batch, list(asked)
        with ServiceClient(spec, self.info.name, self._journal.spend) as client:
            pool = ThreadPoolExecutor(spec.parallel, thread_name_prefix="alloykit-service")
            try:
                parts = [keys[i : i + size] for i in range(0, len(keys), size)]
                futures = {pool.submit(self._batch, client, {k: asked[k] for k in part}): part for part in parts}
                for future in as_completed(futures):
                    unread |= future.result()
                    advance(len(futures[future]))
            finally:  # after an error or Ctrl-C: what is under way is recorded, and no more is asked
                client.stop()
                pool.shutdown(wait=True, cancel_futures=True)
                self._journal.record({})
        if self._unreadable and not self._readable:
            raise self._useless()
        if self._unreadable > bad:
            log_line(
                f"teacher {self.info.name}: unreadable answers: {self._unreadable - bad:,}, such as: {self._example}"
            )
        if outside := self._format.outside:
            log_line(
                f"teacher {self.info.name}: answers outside its labels: {len(outside):,}, such as "
                f"'{client.without_key(outside[0])}'"
            )
            outside.clear()
        return unread

    def _batch(self, client: ServiceClient, asked: Mapping[str, Read]) -> set[str]:
        """Ask for some texts. A request that the service refuses is divided, down to the one text that it cannot answer."""
        try:
            found: list[Probabilities] = list(self._format.ask(list(asked.values()), client.post))
        except UnreadableAnswer as error:
            if error.refused and len(asked) > 1:
                items = list(asked.items())
                half = len(items) // 2
                return self._batch(client, dict(items[:half])) | self._batch(client, dict(items[half:]))
            with self._lock:
                self._unreadable, self._example = self._unreadable + len(asked), client.without_key(str(error))
                if self._unreadable >= BAD and self._unreadable > BAD_SHARE * (self._unreadable + self._readable):
                    raise self._useless() from None
            return set(asked)
        self._journal.record(dict(zip(asked, found, strict=True)))
        with self._lock:
            self._readable += len(asked)
        return set()

    def _useless(self) -> AlloyError:
        return AlloyError(
            expected=f"answers of teacher '{self.info.name}' in the format '{self.info.spec.format}'",
            got=f"{self._unreadable:,} of {self._unreadable + self._readable:,} that cannot be read, such as: {self._example}",
            hint="Check `format`, `request` and `answer`. Finished answers are kept.",
        )


def _format_of(info: ServiceInfo) -> ChatService | ScoreService:
    spec, labels = info.spec, info.labels
    if spec.format == "openai":
        return ChatService(
            info.name, spec.model or "", labels, template=spec.template, request=spec.request, logprobs=spec.logprobs,
            samples=spec.samples, certainty=spec.certainty,
        )  # fmt: skip
    theirs = dict(zip(spec.labels, labels, strict=True))
    if spec.format == "tei":
        request = {"inputs": "{inputs}", **spec.request}
        return ScoreService(request, "", theirs, spec.values, batch=spec.batch)
    assert spec.answer is not None
    return ScoreService(spec.request, spec.answer, theirs, spec.values, batch=spec.batch)
