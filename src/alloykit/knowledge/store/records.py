"""The store's JSON files. They are checked when they are read."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator

from alloykit.errors import AlloyError

SHA256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
PositiveCount = Annotated[StrictInt, Field(gt=0)]


class Record(BaseModel):
    """One JSON file."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)


R = TypeVar("R", bound=Record)


class Manifest(Record):
    """`manifest.json`. `salt`: SHA-256 of the salt of the text ids, None without one."""

    format: StrictInt
    salt: SHA256 | None = None
    shard_rows: PositiveCount


class Receipt(Record):
    """The JSON file beside a unit. `made_of`: digest of the teacher's records at that time."""

    sha256: SHA256
    bytes: Annotated[StrictInt, Field(ge=0)]
    made_of: SHA256 | None = None
    seconds: Annotated[float, Field(ge=0)] = 0.0


class TeacherRecord(Record):
    """`teacher.json`: what all outputs of a teacher depend on. `classes`, `width`: its labels and the size of its states, None without states.

    A teacher of transformers has the other fields, every other teacher has an `identity` (teachers/protocol.py) in their place."""

    weights: SHA256 | None = None
    tokenizer: SHA256 | None = None
    max_length: PositiveCount | None = None
    compute_format: StrictStr | None = None
    classes: PositiveCount
    width: PositiveCount | None = None
    identity: StrictStr | None = None
    config: SHA256 | None = None
    tokenizer_settings: SHA256 | None = None
    rows_of_texts: SHA256 | None = None

    @model_validator(mode="after")
    def _identified(self) -> TeacherRecord:
        of_model = (self.weights, self.tokenizer, self.max_length, self.compute_format)
        if self.identity is None and None in of_model:
            raise ValueError("needs weights, tokenizer, max_length and compute_format, or an identity")
        return self


class ProbeRecord(Record):
    """`probe.json`: the probabilities that a teacher without a hash gave for the texts of teachers/probe_texts.py. None: no answer."""

    answers: list[list[float] | None]


class SamplingRecord(Record):
    """`sampling.json`: what the Monte-Carlo passes of a teacher depend on."""

    sampler: StrictStr
    dropout: float | None
    seed: StrictInt
    tokens_per_batch: PositiveCount


RECORDS: dict[str, type[Record]] = {"teacher": TeacherRecord, "sampling": SamplingRecord, "probe": ProbeRecord}


def parse_record(kind: type[R], data: bytes, path: str) -> R:
    """A record from the bytes of its file. AlloyError if it is not a valid record."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise AlloyError(
            expected=f"a valid record in {path}",
            got=f"'{field}: {first['msg']}'" if field else f"'{first['msg']}'",
            hint="Delete it and run again."
            if kind is Receipt
            else "It says what the files beside it were made with. Restore it, or delete the folder that it is in and run again.",
        ) from error
