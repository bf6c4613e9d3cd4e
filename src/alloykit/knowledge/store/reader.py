"""Read the store in any order: the row of a text from any shard."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.abstention import Abstention
from alloykit.knowledge.store.shard_ids import ShardIds
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.unit_rows import OpenUnits, UnitRows
from alloykit.knowledge.store.units import CHUNK, logits_unit, name_in_folder, passes_unit, pooled_unit
from alloykit.outputs import Rows, TeacherRows
from alloykit.progress import bar
from alloykit.temporary.buckets import BLOCK, Buckets
from alloykit.temporary.copied import COPIED
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.row_index import Ids, RowIndex, id_blocks
from alloykit.temporary.rows_at import Array
from alloykit.temporary.scattered import range_size, scattered

OUTPUTS = "the teachers' outputs"  # what the temporary files hold, for messages
BAR_FROM = 100  # shards; fewer are read in a moment


class StoredKnowledge:
    """A `Source` over the texts of one table, in the table's order; duplicates read the same row.

    `ids`: a text id per text. `passes`: how many Monte-Carlo passes to read, at most what the sweep made.
    `labels`: [n] int64 or None. `layers`: by teacher, the layers whose pooled states to read. `abstention`: marks the texts that teachers abstain from;
    None if no label means "none of the others". AlloyError if anything is missing from the store.

    Every checksum is verified once. Meanwhile the rows of the texts are copied into a temporary file, from which each text takes one read. If that file would
    have more than `COPIED` bytes, nothing is copied, and rows are read from the files of a local store. Memory holds the names of the shards.
    """

    def __init__(
        self,
        store: Store,
        teachers: Sequence[str],
        ids: Ids,
        *,
        passes: int = 0,
        labels: Tensor | None = None,
        layers: Mapping[str, Sequence[int]] | None = None,
        abstention: Abstention | None = None,
    ) -> None:
        self.store, self.teachers, self.passes, self.labels = store, tuple(teachers), passes, labels
        self.abstention = abstention
        self.layers = {name: tuple((layers or {}).get(name, ())) for name in self.teachers}
        shards = store.shards()
        complete = {name: store.units(f"teachers/{name}") for name in self.teachers}
        lacks = {shard: [u for t in self.teachers for u in self._units(t, shard, complete[t])] for shard in shards}
        self._names = [shard for shard in shards if not lacks[shard]]
        self._starts = np.cumsum([0] + [shards.rows(shard) for shard in self._names])
        found = store.index(self._names).find(id_blocks(ids))
        self._check(found, ids, shards, lacks)
        self._rows = RowFile(OUTPUTS)  # the rows that are asked for, ascending
        self._times = RowFile(OUTPUTS)  # how many texts ask for each of them
        self._before = np.zeros(len(self._names) + 1, np.int64)  # how many of these rows are in earlier shards
        self._place = scattered(OUTPUTS, len(found), self._asked(found))
        np.cumsum(self._before, out=self._before)

    def __len__(self) -> int:
        return len(self._place)

    def _asked(self, found: RowFile) -> Iterator[tuple[Array, Array]]:
        """Positions of texts, and where their rows are among those asked for. found: each text's row in the store."""
        size = range_size(int(self._starts[-1]))
        parts = Buckets(OUTPUTS, int(self._starts[-1]) // size + 1)
        for start, rows in found.blocks(BLOCK):
            parts.add(rows // size, np.stack([np.arange(start, start + len(rows)), rows], -1))
        for part in range(parts.count):
            pairs = parts.read(part)
            if len(pairs):
                rows, where, times = np.unique(pairs[:, 1], return_inverse=True, return_counts=True)
                shard = np.searchsorted(self._starts, rows, side="right")
                self._before += np.bincount(shard, minlength=len(self._before))
                self._times.append(times)
                yield pairs[:, 0], where + self._rows.append(rows)

    def _check(self, found: RowFile, ids: Ids, shards: ShardIds, lacks: Mapping[str, list[str]]) -> None:
        """AlloyError if a text has no row. It names what an incomplete shard with such a text lacks."""
        missing, some = 0, list[Array]()
        for (_, rows), block in zip(found.blocks(BLOCK), id_blocks(ids), strict=True):
            if missing < BLOCK:
                some.append(block[rows < 0])
            missing += int((rows < 0).sum())
        if missing:
            index = RowIndex(some, sum(map(len, some)))
            for shard in (shard for shard in shards if lacks[shard]):
                at = index.find([shards[shard]])
                if (at.between(0, len(at)) >= 0).any():
                    self._missing(lacks[shard][0])
            self._missing(f"{missing} of {len(found)} texts")

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        at = np.asarray(indices, dtype=np.int64)
        values, pooled = self._values(at), self._pooled_states(at)
        teachers, start = [], 0
        for name, size in zip(self.teachers, self._copy.sizes, strict=True):
            logits = values[:, start : start + size]
            total = values[:, start + size : start + 2 * size]
            start += 2 * size if self.passes else size
            answered = ~logits.isnan().any(-1)
            all_answered = bool(answered.all())
            if not all_answered:
                logits = torch.where(answered.unsqueeze(-1), logits, -math.log(size))
            teachers.append(
                TeacherRows(
                    logits.contiguous(),
                    total.contiguous() if self.passes else None,
                    torch.full((len(at),), self.passes) if self.passes else None,
                    pooled_states=pooled[name],
                    answered=None if all_answered else answered,
                )
            )
        found = Rows(tuple(teachers), None if self.labels is None else self.labels[torch.from_numpy(at)])
        return found if self.abstention is None else self.abstention(found)

    def without_states(self) -> StoredKnowledge:
        """The same outputs without states. Both read the same temporary files."""
        other = copy(self)
        other._copy, other.layers = self._copy, dict.fromkeys(self.teachers, ())
        return other

    def pass_variance(self, teacher: str) -> float | None:
        """Variance of a probability over the Monte-Carlo passes, in the mean over texts and labels. None if single passes
        are not kept or fewer than two were read."""
        total = self._copy.variance[self.teachers.index(teacher)]
        return None if total is None or not len(self) else total / len(self)

    def _values(self, at: Array) -> Tensor:
        """Logits, and sums of the passes if there are any, teacher after teacher. [len(at), …] float32"""
        if self._copy.file is not None:
            return torch.from_numpy(self._copy.file.read(self._place.read(at)))
        width = sum(self._copy.sizes) * (2 if self.passes else 1)
        return self._from_files(at, torch.empty(len(at), width), self._answers)

    def _from_files(self, at: Array, found: Tensor, read: Callable[[int, Tensor], Tensor]) -> Tensor:
        """The rows of these texts, in `found`, [len(at), width]. read: (shard, places in it) → [·, width]."""
        rows = self._rows.read(self._place.read(at))
        shards = np.searchsorted(self._starts, rows, side="right") - 1
        for shard in np.unique(shards).tolist():
            mine = np.flatnonzero(shards == shard)
            found[torch.from_numpy(mine)] = read(shard, torch.from_numpy(rows[mine] - self._starts[shard]))
        return found

    def _answers(self, shard: int, position: Tensor) -> Tensor:
        """Some rows of a shard, read from its files."""
        outputs = [self._outputs(name, shard, position, self._open, variance=False) for name in self.teachers]
        return self._joined(outputs).float()

    def _open(self, unit: str, shard: int) -> UnitRows:
        return self._files.unit(unit)

    def _joined(self, outputs: Sequence[_Outputs]) -> Tensor:
        return torch.cat([t for o in outputs for t in ((o.logits, o.total) if self.passes else (o.logits,))], -1)

    @cached_property
    def _files(self) -> OpenUnits:
        return OpenUnits(self.store.storage.path)

    @cached_property
    def _copy(self) -> _Copy:
        """Logits and passes of the rows that the texts need, in the order of the rows. Every checksum is verified."""
        file: RowFile | None = RowFile(OUTPUTS)
        variance, known, sizes = [0.0] * len(self.teachers), [True] * len(self.teachers), [0] * len(self.teachers)
        for shard, mine, position in self._parts("reading cached outputs"):
            outputs = [self._outputs(teacher, shard, position, self._load) for teacher in self.teachers]
            for i, of_teacher in enumerate(outputs):
                sizes[i] = of_teacher.logits.shape[-1]
                known[i] = known[i] and of_teacher.variance is not None
                if of_teacher.variance is not None:
                    times = torch.from_numpy(self._times.between(*mine))
                    variance[i] += float((of_teacher.variance * times).sum())
            values = self._joined(outputs).float()
            if self._is_too_large(4 * values.shape[-1]):
                file = None
            if file is not None:
                file.append(values.numpy())
        return _Copy(file, sizes, [v if k else None for v, k in zip(variance, known, strict=True)])

    def _is_too_large(self, row: int) -> bool:
        """Whether a copy of all rows is. row: bytes of each."""
        return self.store.storage.is_local and row * len(self._rows) > COPIED

    @cached_property
    def _pooled(self) -> RowFile | None:
        """The pooled states of the layers asked for, teacher after teacher, layer after layer. None: they are read from the store."""
        file: RowFile | None = RowFile(OUTPUTS)
        if any(self.layers.values()):
            for shard, _, position in self._parts("reading pooled states"):
                states = self._pooled_of(shard, position, self._load)
                if self._is_too_large(2 * states.shape[-1]):
                    file = None
                if file is not None:
                    file.append(states.numpy())
        return file

    def _pooled_of(self, shard: int, position: Tensor, load: Callable[[str, int], Any]) -> Tensor:
        units = [pooled_unit(name, self._names[shard], n) for name in self.teachers for n in self.layers[name]]
        return torch.cat([load(unit, shard)["pooled"][position] for unit in units], -1).half()

    @cached_property
    def _widths(self) -> dict[str, list[int]]:
        first = self._shards()[0]
        return {
            name: [self._load(pooled_unit(name, self._names[first], n), first)["pooled"].shape[-1] for n in layers]
            for name, layers in self.layers.items()
        }

    def _pooled_states(self, at: Array) -> dict[str, tuple[Tensor, ...] | None]:
        if not any(self.layers.values()):
            return dict.fromkeys(self.teachers)
        widths = [width for name in self.teachers for width in self._widths[name]]
        if self._pooled is not None:
            states = torch.from_numpy(self._pooled.read(self._place.read(at)))
        else:
            states = torch.empty(len(at), sum(widths), dtype=torch.float16)
            self._from_files(at, states, lambda shard, place: self._pooled_of(shard, place, self._open))
        parts = iter(torch.split(states, widths, dim=-1))
        return {
            name: tuple(next(parts).contiguous() for _ in layers) if layers else None
            for name, layers in self.layers.items()
        }

    def _parts(self, what: str) -> Iterator[tuple[int, tuple[int, int], Tensor]]:
        """Shard, from where to before where the rows asked for are in it, and their places in it."""
        shards = self._shards()
        with bar(what, len(shards) if len(shards) >= BAR_FROM else 0, "shards") as advance:
            for shard in shards:
                mine = int(self._before[shard]), int(self._before[shard + 1])
                yield shard, mine, torch.from_numpy(self._rows.between(*mine) - self._starts[shard])
                advance(1 if len(shards) >= BAR_FROM else 0)

    def _outputs(
        self, teacher: str, shard: int, position: Tensor, load: Callable[[str, int], Any], *, variance: bool = True
    ) -> _Outputs:
        """load: (unit, shard) → its tensors."""
        name = self._names[shard]
        logits = load(logits_unit(teacher, name), shard)["logits"][position]
        total, single = torch.zeros_like(logits), []
        for start in range(0, self.passes, CHUNK):
            wanted, unit = min(CHUNK, self.passes - start), load(passes_unit(teacher, name, start), shard)
            if "per_pass" in unit and (variance or wanted < CHUNK):
                single.append(unit["per_pass"][:wanted, position])
            elif wanted < CHUNK:
                raise AlloyError(
                    expected=f"a number of passes that is a multiple of {CHUNK} (single passes are not kept here)",
                    got=str(self.passes),
                    hint=f"Set passes to {' or '.join(str(n) for n in (start, start + CHUNK) if n)}, or use another folder for the outputs.",
                )
            total += unit["probability_sum"][position] if wanted == CHUNK else single[-1].sum(0)
        kept = variance and len(single) * CHUNK >= self.passes > 1
        return _Outputs(logits, total, torch.cat(single).double().var(0).mean(-1) if kept else None)

    def _load(self, unit: str, shard: int) -> dict[str, Tensor]:
        return self.store.answers(unit, int(self._starts[shard + 1] - self._starts[shard]))

    def _shards(self) -> list[int]:
        """The shards with rows that are asked for."""
        return np.flatnonzero(np.diff(self._before)).tolist()  # type: ignore[no-any-return]

    def _units(self, teacher: str, shard: str, complete: set[str]) -> list[str]:
        """Those that are to be read and are not there."""
        units = [
            logits_unit(teacher, shard),
            *(passes_unit(teacher, shard, start) for start in range(0, self.passes, CHUNK)),
            *(pooled_unit(teacher, shard, layer) for layer in self.layers[teacher]),
        ]
        return [unit for unit in units if name_in_folder(unit) not in complete]

    def _missing(self, what: str) -> NoReturn:
        raise AlloyError(
            expected=f"all outputs of the teachers in {self.store.storage.url}",
            got=f"{what} missing",
            hint="Run `alloykit sweep` with this recipe first; it goes on where it stopped.",
        )


@dataclass(frozen=True)
class _Outputs:
    """One teacher's answers for some rows of a shard."""

    logits: Tensor
    total: Tensor
    variance: Tensor | None


@dataclass(frozen=True)
class _Copy:
    """`file`: None if the rows are read from the store. `sizes`: labels per teacher; `variance`: of its passes, summed over the texts."""

    file: RowFile | None
    sizes: list[int]
    variance: list[float | None]
