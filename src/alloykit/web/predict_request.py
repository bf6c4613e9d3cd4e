"""The body of a request to /predict, as text-embeddings-inference defines it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from alloykit.data.table import row_problem
from alloykit.serving.classify import Asked
from alloykit.web.refused import Refused
from alloykit.web.serve_options import ServeOptions


def _no_surrogates(text: str) -> str:
    """ValueError for halves of surrogate pairs, which are not text."""
    text.encode()
    return text


ServedText = Annotated[str, AfterValidator(_no_surrogates)]
"""A text of a request."""
Strings = Annotated[list[ServedText], Field(min_length=1, max_length=2, fail_fast=True)]
Batch = Annotated[list[Strings], Field(min_length=1, fail_fast=True)]
"""Reading ends at the first list that is wrong: a body of wrong ones would otherwise have a million errors, and the server would answer nobody meanwhile."""
SHAPES = "`inputs` as a string, a pair [string, string], or a batch of lists of one or two strings [[string], [string, string], …]"


class PredictRequest(BaseModel):
    """One text, one pair of texts, or a batch of both."""

    inputs: ServedText | Strings | Batch = Field(
        examples=["I was charged twice", [["I was charged twice"], ["Where is my parcel?"]]]
    )
    """A string, a pair of strings, or a list of lists of one or two strings."""
    truncate: bool | None = None
    """true: a text with too many tokens is cut. false: it is an error. Default: as the server was started."""
    truncation_direction: Literal["right", "Right"] = "right"
    """The end at which a long text is cut. Only `right` is possible."""
    raw_scores: bool = False
    """Whether to give logits instead of probabilities."""

    @property
    def is_batch(self) -> bool:
        """Whether the answer is a list for each text."""
        return isinstance(self.inputs, list) and isinstance(self.inputs[0], list)

    @property
    def sequences(self) -> list[tuple[str, str | None]]:
        """Each text with its second text."""
        if isinstance(self.inputs, str):
            return [(self.inputs, None)]
        if self.is_batch:
            return [_pair(part) for part in self.inputs if isinstance(part, list)]
        return [_pair([part for part in self.inputs if isinstance(part, str)])]

    def asked(self, options: ServeOptions) -> list[Asked]:
        """What the classifier is asked. Refused for too many, too long or empty texts."""
        sequences = self.sequences
        if len(sequences) > options.texts_per_request:
            raise Refused(
                f"batch size {len(sequences)} > maximum allowed batch size {options.texts_per_request}", "Validation"
            )
        for text, pair in sequences:
            check_text(text, pair, options)
        truncate = options.truncate if self.truncate is None else self.truncate
        return [Asked(text, pair, truncate, self.raw_scores) for text, pair in sequences]


def check_text(text: str, pair: str | None, options: ServeOptions) -> None:
    """Refused for a text that is not usable, such as an empty one, and for one with too many characters."""
    if not text.strip():
        raise Refused("`inputs` cannot be empty", "Empty")
    if problem := row_problem(text, pair):
        raise Refused(f"expected usable texts; got one that is not: {problem}", "Validation", 422)
    characters = len(text) + len(pair or "")
    if characters > options.characters:
        raise Refused(f"expected texts of at most {options.characters} characters; got {characters}", "Validation")


def _pair(strings: list[str]) -> tuple[str, str | None]:
    return strings[0], strings[1] if len(strings) > 1 else None
