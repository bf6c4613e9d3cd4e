"""A method's part of a run's report: sections of text, tables and series. The page shows them without knowing the method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, model_validator

Words = Annotated[str, Field(max_length=20_000)]
Cell = int | FiniteFloat | Words | None
READABLE = 8  # lines of one figure, which has eight colours


class Part(BaseModel):
    """Unknown keys and values of other types are errors when the part is made, not when a page is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(Part):
    """One paragraph; `commands` between backticks."""

    kind: Literal["text"] = "text"
    text: Words


class Table(Part):
    """Rows of cells, the first of which names the row. None is shown as a dash.

    percent: the columns whose numbers are shares, shown in percent. positions: for each row the position in the pool of the text that it is about;
    the report then begins the row with that text's row of the input and, where the recipe shows texts, ends it with the text.
    """

    kind: Literal["table"] = "table"
    caption: Words
    columns: tuple[Words, ...] = Field(min_length=1, max_length=1000)
    rows: tuple[tuple[Cell, ...], ...] = Field(max_length=10_000)
    percent: tuple[str, ...] = ()
    positions: tuple[int, ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Table:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"a row of table '{self.caption}' has {len(row)} cells for {len(self.columns)} columns"
                )
        if unknown := set(self.percent) - set(self.columns):
            raise ValueError(f"percent names {sorted(unknown)}, which table '{self.caption}' has no column for")
        if self.positions is not None and len(self.positions) != len(self.rows):
            raise ValueError(f"table '{self.caption}' has {len(self.positions)} positions for {len(self.rows)} rows")
        return self


class Series(Part):
    """Lines over the same points, as a figure with its numbers. percent: the values are shares."""

    kind: Literal["series"] = "series"
    caption: Words
    x: Words
    y: Words
    points: tuple[FiniteFloat, ...] = Field(max_length=10_000)
    lines: dict[Words, tuple[FiniteFloat, ...]] = Field(min_length=1, max_length=50)
    percent: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> Series:
        for name, values in self.lines.items():
            if len(values) != len(self.points):
                raise ValueError(f"line '{name}' has {len(values)} values for {len(self.points)} points")
        return self

    @classmethod
    def of_many(cls, lines: Mapping[str, Sequence[float]], caption: str, **rest: Any) -> Series:
        """A line for each teacher, or each label, however many there are: the `READABLE` lines whose value changes most, and the caption says so."""
        shown = set(
            sorted(lines, key=lambda name: max(lines[name], default=0) - min(lines[name], default=0))[-READABLE:]
        )
        if len(shown) < len(lines):
            caption += f" Shown are the {len(shown)} of {len(lines):,} lines that change most."
        return cls(caption=caption, lines={name: tuple(lines[name]) for name in lines if name in shown}, **rest)


class Section(Part):
    """A heading with its parts."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    parts: tuple[Annotated[Text | Table | Series, Field(discriminator="kind")], ...] = Field(max_length=50)


class MethodReport(Part):
    """A method's report. `warnings` are printed and shown at the top of the page, `sections` further below."""

    warnings: tuple[Words, ...] = ()
    sections: tuple[Section, ...] = Field((), max_length=50)
