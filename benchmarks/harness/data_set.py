"""What a labelled data set is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True)
class DataSet:
    """A labelled set. `labels`: names of the integer labels. `order`: how MUKA's Table 7 sorts them, or their topics (ours), if otherwise. `pairs`: each text
    has a second one. `folder`: of its files, if its name is another. `sources`: the label of each kept value of the column `source`, for files without a
    column `label`."""

    name: str
    title: str
    labels: tuple[str, ...]
    order: tuple[str, ...] = ()
    pairs: bool = False
    folder: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    def split(self, teachers: int) -> list[list[str]]:
        """MUKA, Appendix A: the sorted labels cut evenly; the last teacher takes what is left."""
        labels, size = self.order or self.labels, len(self.labels) // teachers
        cuts = [i * size for i in range(teachers)] + [len(labels)]
        return [list(labels[a:b]) for a, b in pairwise(cuts)]
