"""The method's supervision of each text, computed once before the training instead of in every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from alloykit.knowledge.without_states import without_states
from alloykit.methods.protocol import Context, Method, Supervision
from alloykit.methods.requirements import supervised
from alloykit.outputs import Rows, Source, chunks
from alloykit.progress import bar
from alloykit.temporary.copied import COPIED
from alloykit.temporary.row_file import RowFile

WHAT = "the targets of the texts"
BAR_FROM = 20_000  # texts; fewer take a moment
NUMBER = 4  # bytes, float32


@dataclass(frozen=True)
class WithSupervision:
    """A source whose rows also have their supervision. `values`: the fields of each text's `Supervision` side by side, in the order of the
    source. `widths`: of each field, 0 for a field with one number a text."""

    source: Source
    values: RowFile
    widths: dict[str, int]

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        values = torch.from_numpy(self.values.read(np.asarray(indices, dtype=np.int64)))
        parts = torch.split(values, [max(width, 1) for width in self.widths.values()], -1)
        fields = {
            name: part.contiguous() if width else part.squeeze(-1)
            for (name, width), part in zip(self.widths.items(), parts, strict=True)
        }
        return replace(self.source.rows(indices), supervision=fields)


def with_supervision(source: Source, method: Method, context: Context, *, reads: float) -> Source:
    """The same source, with the supervision of each text. Without states too, if the method's loss does not read them.

    reads: how often training reads each text. The source stays as it is where nothing is saved (less than one read, or no single target), where
    the supervision of a text depends on other texts of its batch, or where the file would have more than `COPIED` bytes."""
    needs, space = method.needs, context.space
    in_memory = needs.token_states or needs.attention_scores or needs.phase_data
    size = NUMBER * len(source) * (space.size + len(space.teachers) + 2)
    if reads < 1 or not method.single_target or method.batch_coupled or in_memory or size > COPIED:
        return source
    values, widths = RowFile(WHAT), dict[str, int]()
    with bar(WHAT, len(source) if len(source) >= BAR_FROM else 0, "texts") as advance:
        for rows in chunks(source):
            fields = _fields(method, rows, context)
            widths = {name: value.shape[1] if value.dim() > 1 else 0 for name, value in fields.items()}
            columns = [value if value.dim() > 1 else value.unsqueeze(-1) for value in fields.values()]
            values.append(torch.cat(columns, -1).numpy())
            advance(len(columns[0]) if len(source) >= BAR_FROM else 0)
    return WithSupervision(source if method.loss_reads_states else without_states(source), values, widths)


def _fields(method: Method, rows: Rows, context: Context) -> dict[str, Tensor]:
    """Those of the supervision that the method gives, float32."""
    with torch.no_grad():
        found = supervised(method, rows, context, _texts(rows))
    assert isinstance(found, Supervision)  # of a single target
    return {name: value.float() for name, value in vars(found).items() if value is not None}


def _texts(rows: Rows) -> int:
    """How many texts these rows have, also where there is no teacher."""
    of_teacher = rows.teachers[0].logits if rows.teachers else rows.labels
    assert of_teacher is not None
    return len(of_teacher)
