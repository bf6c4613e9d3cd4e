"""Answers in a file as a teacher: last month's predictions, or those of a language model.

A row of the file is joined to a text by the text itself, or by its number.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator

from alloykit.blocks import PathText
from alloykit.data import Texts, text_id
from alloykit.data.answer_files import answer_columns, answer_files, answer_rows
from alloykit.digests import digest, known_sha256
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.models.forward import Advance
from alloykit.names import clean_names, is_anonymous, quoted, unknown_name
from alloykit.paths import user_path
from alloykit.progress import log_line
from alloykit.teachers.answer_form import MAX_LABELS, AnswerForm, too_many_labels
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, TeacherSpec, probabilities_as_logits
from alloykit.temporary.row_file import RowFile

BLOCK = 10_000  # rows that are read at a time
NUMBERS = 2_000_000  # that are kept as Python's before they are written
MAX_COLUMNS = 1_000  # that are taken as labels although the recipe does not name them
MAX_OUTSIDE, FEW = 0.1, 10  # share of the answers that may have a label that is not listed; so many always may


class AnswersSpec(TeacherSpec):
    """Stored answers: a file with an answer to each text. Texts without one are taught by the other teachers."""

    key: ClassVar[str] = "answers"

    answers: PathText
    """A file (csv, tsv or jsonl, all also .gz; or parquet), or a folder of such files."""
    labels: list[str] | None = None
    """Its labels; those that the file names if not given."""
    values: Literal["probabilities", "logits"] = "probabilities"
    """What is in the columns of the labels, where every label has a column."""
    label: str | None = None
    """The column of the answered label, where it is one label a text."""
    confidence: str | None = None
    """With `label`: the column of its probability."""
    certainty: float | None = Field(None, gt=0, le=1)
    """With `label`, where the file has no confidence: the probability of every answered label."""
    top: str | None = None
    """The column of the best labels with log-probabilities: {label: log-probability}, or a list of {label, logprob}; in csv as JSON."""
    by: Literal["text", "row"] = "text"
    """text: the file repeats the texts in its columns `text` and `text_pair`. row: row n of the file answers row n of the recipe's texts."""
    text: str = "text"
    """The column of the text, with `by: text`."""
    text_pair: str | None = None
    """The column of the second text, where texts are pairs."""

    @model_validator(mode="after")
    def _one_form(self) -> AnswersSpec:
        if self.label is not None and self.top is not None:
            raise ValueError("give either `label` or `top`, not both")
        if (self.confidence is not None) + (self.certainty is not None) != (self.label is not None):
            raise ValueError("`label` goes with either `confidence`, a column, or `certainty`, a number such as 0.9")
        if self.values == "logits" and (self.label or self.top):
            raise ValueError("values: logits is for files with a column for every label")
        return self

    @property
    def bound(self) -> str | None:
        return "it knows the texts by their row" if self.by == "row" else None

    @property
    def form(self) -> AnswerForm:
        """How a row answers."""
        return AnswerForm(f"'{self.answers}'", self.values, self.label, self.confidence, self.certainty, self.top)

    @property
    def of_text(self) -> list[str]:
        """The columns by which rows are joined."""
        return [] if self.by == "row" else [c for c in (self.text, self.text_pair) if c is not None]

    def describe(self, name: str) -> AnswersInfo:
        files = answer_files(user_path(self.answers))
        columns = answer_columns(files[0])
        wanted = [*self.of_text, *([self.label] if self.label else []), *([self.top] if self.top else [])]
        wanted += [self.confidence] if self.confidence else []
        for column in wanted:
            if columns.count(column) != 1:
                raise unknown_name(f"a column of '{self.answers}' for teacher '{name}'", column, columns)
        if self.labels is not None:
            labels = clean_names(self.labels, f"teacher '{name}'")
        elif self.label or self.top:
            labels = tuple(sorted(self.form.named_labels(files)))
        else:
            labels = clean_names([c for c in columns if c not in (self.text, self.text_pair)], f"teacher '{name}'")
            if len(labels) > MAX_COLUMNS:
                raise too_many_labels(f"the columns of '{self.answers}'", MAX_COLUMNS)
        if len(labels) > MAX_LABELS:
            raise too_many_labels(f"'{self.answers}'")
        if self.labels is None and is_anonymous(labels):
            raise AlloyError(
                expected=f"real label names in '{self.answers}' for teacher '{name}', since labels are joined by name",
                got=quoted(labels),
                hint="Write names into the file. If these are the names, list them: `labels: ['1', '2', …]`.",
            )
        if not (self.label or self.top) and (missing := [label for label in labels if columns.count(label) != 1]):
            raise unknown_name(f"a column for every label of teacher '{name}' in '{self.answers}'", missing[0], columns)
        if len(labels) < 2:
            raise AlloyError(
                expected=f"at least 2 labels of teacher '{name}' in '{self.answers}'",
                got=quoted(labels) or "none",
                hint="Name them: `labels: [bug, login]`."
                if self.label or self.top or self.labels
                else "Each column beside the text is read as the probabilities of one label. If a column has labels, name it: `label: COLUMN, certainty: 0.9`.",
            )
        return AnswersInfo(name, self, labels)


@dataclass(frozen=True)
class AnswersInfo(TeacherInfo):
    """`texts`: those of the recipe, for answers that are joined by row."""

    spec: AnswersSpec
    texts: Texts | None = None

    @property
    def gives(self) -> Gives:
        return Gives(logits=self.spec.values == "logits", new_texts=False, every_text=False)

    def with_texts(self, texts: Texts) -> AnswersInfo:
        """AlloyError for answers that cannot be read, or of which none is to these texts: better now than after other teachers have read all texts."""
        found = replace(self, texts=texts) if self.spec.by == "row" else self
        StoredAnswers(found).require_some(texts)
        return found

    def identity(self) -> str:
        settings = self.spec.model_dump(mode="json", exclude={"name", "answers"})
        return digest([settings, self.labels, [known_sha256(path) for path in self.files]])

    @cached_property
    def rows_of_texts(self) -> str | None:  # type: ignore[override]
        if self.texts is None:
            return None
        found = hashlib.sha256()
        for batch in self.texts.table.batches(["source_row", "id"]):
            for row, name in zip(batch["source_row"], batch["id"], strict=True):
                found.update(f"{row} {name}\n".encode())
        return found.hexdigest()

    @property
    def files(self) -> list[Path]:
        return answer_files(user_path(self.spec.answers))

    def load(self, reading: Reading) -> StoredAnswers:
        return StoredAnswers(self)


class StoredAnswers(Answerer):
    """All answers of the file in a temporary file; memory holds about 150 bytes for each."""

    def __init__(self, info: AnswersInfo) -> None:
        self.info: AnswersInfo = info
        self.values, self.place = RowFile(f"the answers of teacher '{info.name}'"), dict[bytes, int]()
        self.outside: dict[str, int] = {}
        self._form = info.spec.form
        if info.spec.by == "text":
            self._read_by_text()
        elif info.texts is not None:
            self._read_by_row(info.texts)
        self._check_outside()

    def require_some(self, texts: Texts) -> None:
        """AlloyError if no text has an answer."""
        for batch in texts.table.batches(texts.text_columns):
            if any(key in self.place for key in self.prepare(batch["text"], batch.get("text_pair"))):
                return
        spec = self.info.spec
        raise AlloyError(
            expected=f"answers to the recipe's texts in '{spec.answers}' for teacher '{self.info.name}'",
            got=f"{len(self.place):,} answers, all to other texts" if self.place else "none",
            hint=_why_no_text(spec, texts.is_pair)
            if spec.by == "text" and self.place
            else "Check the columns of the answers.",
        )

    def prepare(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[bytes]:
        return [_key(text, pair) for text, pair in zip(texts, pairs or [None] * len(texts), strict=True)]

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        found = np.full((len(prepared), len(self.info.labels)), np.nan, dtype=np.float32)
        at = np.array([self.place.get(key, -1) for key in prepared], dtype=np.int64)
        known = at >= 0
        if known.any():
            found[known] = self.values.read(at[known])
        advance(len(prepared))
        return Outputs(torch.from_numpy(found))

    def _read_by_text(self) -> None:
        n = len(self.info.spec.of_text)
        for rows in self._blocks():
            self._add([_key(*row[:n]) if _are_texts(row[:n]) else None for row in rows], [row[n:] for row in rows])

    def _read_by_row(self, texts: Texts) -> None:
        columns = ["source_row", "text", *(["text_pair"] if texts.is_pair else [])]
        keys: dict[int, bytes] = {}
        for batch in texts.table.batches(columns):
            pairs = batch.get("text_pair") or [None] * len(batch["text"])
            keys |= {
                int(row): _key(text, pair)
                for row, text, pair in zip(batch["source_row"], batch["text"], pairs, strict=True)
            }
        done = 0
        for rows in self._blocks():
            self._add([keys.get(done + n) for n in range(len(rows))], rows)
            done += len(rows)
        # Rows after a `limit` of the texts have answers as well.
        if done < texts.total or (done > texts.total and not texts.limited):
            raise AlloyError(
                expected=f"{texts.total:,} rows in '{self.info.spec.answers}', one for each row of the texts",
                got=f"{done:,}",
                hint="Rows without an answer may be empty, but must be there, and there may be no others. Or join by text: `by: text`.",
            )

    def _blocks(self) -> Iterator[list[Sequence[Any]]]:
        wanted = [*self.info.spec.of_text, *self._form.columns(self.info.labels)]
        rows = answer_rows(self.info.files, wanted)
        while block := list(islice(rows, BLOCK)):
            yield block

    def _add(self, keys: Sequence[bytes | None], rows: Sequence[Sequence[Any]]) -> None:
        """Keep the answers of rows with a key; of equal texts the first counts. rows: without the columns of the text."""
        labels, values = self.info.labels, list[list[float]]()
        for key, row in zip(keys, rows, strict=True):
            if key is None or key in self.place:
                continue
            answer = self._counted(row)
            if not math.isnan(answer[0]):
                self.place[key] = len(self.place)
                values.append(answer)
            if len(values) * len(labels) > NUMBERS:
                self._write(values)
                values = []
        self._write(values)

    def _counted(self, cells: Sequence[Any]) -> list[float]:
        """The answer of a row. One with a label that the recipe does not list is no answer, and is counted."""
        labels = self.info.labels
        if (label := self._form.answered(cells[0], labels)) is not None and label not in labels:
            self.outside[label] = self.outside.get(label, 0) + 1
            return [math.nan] * len(labels)
        return self._form.answer(cells, labels)

    def _check_outside(self) -> None:
        """Say which labels are not listed. AlloyError if so many answers have them that the list is probably wrong."""
        count, total = sum(self.outside.values()), sum(self.outside.values()) + len(self.place)
        if not count:
            return
        most = max(self.outside, key=lambda label: self.outside[label])
        shown_label = f"such as {quoted([most])} ({self.outside[most]:,} times)"
        if count > FEW and count > MAX_OUTSIDE * total:
            raise AlloyError(
                expected=f"labels of teacher '{self.info.name}' ({quoted(self.info.labels[:5])}) in '{self.info.spec.answers}'",
                got=f"others in {count:,} of {total:,} answers, {shown_label}",
                hint="Add them to `labels:`, or leave `labels:` out: then all labels of the file count. Up to a tenth of the answers may have other labels.",
            )
        log_line(
            f"teacher '{self.info.name}': {count:,} of {total:,} answers have a label that is not listed, {shown_label}; they count as no answer"
        )

    def _write(self, values: Sequence[Sequence[float]]) -> None:
        if values:
            tensor = torch.tensor(values, dtype=torch.float64)
            logits = self.info.spec.values == "logits"
            self.values.append((tensor.float() if logits else probabilities_as_logits(tensor)).numpy())


def _why_no_text(spec: AnswersSpec, pairs: bool) -> str:
    """What to check if no text of the file is one of the recipe's. pairs: whether these are pairs."""
    if pairs and spec.text_pair is None:
        return "The recipe's texts are pairs: name the column of the second text, `text_pair: COLUMN`. If the rows are in the same order, set `by: row`."
    if spec.text_pair is not None and not pairs:
        return "The recipe's texts are no pairs: leave out `text_pair`."
    return "Texts are joined if they are the same, character by character. If the rows are in the same order, set `by: row`."


def _are_texts(cells: Sequence[Any]) -> bool:
    """Whether a row has a text, and a second text or none. Other rows belong to no text."""
    return isinstance(cells[0], str) and all(cell is None or isinstance(cell, str) for cell in cells[1:])


def _key(text: str, pair: str | None = None) -> bytes:
    return bytes.fromhex(text_id(text, pair))
