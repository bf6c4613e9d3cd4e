"""The parts that a seed draws from a data set: teachers' texts, pools, test texts."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Container
from functools import cached_property
from pathlib import Path

import datasets

from benchmarks.harness.data_set import DataSet
from benchmarks.harness.profiles import Profile

FOREIGN = "wiki_sentences"  # Wikipedia sentences: no teacher learned from them, though some touch a label's topic
FOREIGN_SHARE = 0.25

# What a pool is: the students' unlabelled texts. The last three are for teachers whose data is gone (`Stages.pool`).
DATA_FREE = {
    "generated": "texts that a language model wrote for each teacher's classes",
    "random": "as many texts of words drawn from the teachers' vocabularies",
    "cross": "as many Wikipedia sentences",
}
POOLS = {
    "shared": "the teachers' own training texts, without labels (the paper's setting)",
    "disjoint": "as many other texts of the same set: no teacher has seen any of them",
    "foreign": "the teachers' own training texts, a quarter of them replaced by Wikipedia sentences",
}
UNSEEN_FOREIGN = {
    "foreign10": 0.1,
    "foreign50": 0.5,
}  # texts of "disjoint", this share of them replaced by Wikipedia sentences
SKEWED = {  # other texts of the set, so many times as many of the first, or the last, teacher's labels as of all others'
    "skew5-first": (0, 5),
    "skew5-last": (-1, 5),
    "skew20-first": (0, 20),
    "skew20-last": (-1, 20),
}
NATURAL = "natural"  # other texts of the set, label frequencies proportional to 1 / rank; its test texts have the same frequencies
MANY = "disjoint5"  # up to five times as many other texts
MIN_TEXTS = 3  # of every label in it, if the set has as many
REACH = 6  # teachers and pools take their texts from the first REACH · `texts` rows of a seed's order


class Files:
    """The parts of a data set for one seed, written once as Parquet files under `folder`: text, and the label's name."""

    def __init__(self, data: Path, folder: Path, dataset: DataSet, profile: Profile, seed: int) -> None:
        self.data, self.folder, self.dataset, self.profile, self.seed = data, folder, dataset, profile, seed

    def teachers(self, pool: str) -> Path:
        """The texts that the teachers learn from."""
        return self._part("teachers" + ("-half" if self._halved(pool) else ""), self._orders(pool)[0])

    def pool(self, pool: str) -> Path:
        """The students' texts, with their labels where known. Students do not see the labels."""
        own, other = self._orders(pool)
        if pool == "shared":
            return self._part("teachers", own)
        if pool == "disjoint":
            return self._part("others", other)
        if pool == MANY:
            return self._part("many-others", self._unseen(len(own)))
        rows, share = (other, UNSEEN_FOREIGN[pool]) if pool in UNSEEN_FOREIGN else (own, FOREIGN_SHARE)
        foreign = round(share * len(rows))
        return self._mixed(pool, rows[: len(rows) - foreign], foreign)

    @property
    def unseen(self) -> int:
        """How many texts the pool "disjoint" has; 0 if the teachers learn from all texts."""
        return len(self._orders("disjoint")[1])

    def skewed(self, pool: str, labels: Container[str], ratio: int) -> Path:
        """As many texts as in other pools, or fewer if one side has too few. It has `ratio` times as many texts of these labels as of the others."""
        size = len(self._orders(pool)[0])
        sides: tuple[list[int], list[int]] = ([], [])
        for row in self._unseen(size):
            sides[self.dataset.labels[self._answers[row]] not in labels].append(row)
        few = min(round(size / (1 + ratio)), len(sides[0]) // ratio, len(sides[1]))
        rows = [*sides[0][: few * ratio], *sides[1][:few]]
        return self._part(pool, random.Random(f"{pool} {self.seed}").sample(rows, len(rows)))

    def natural(self) -> Path:
        """At most as many texts as in other pools, skewed as labels often are: the seed draws an order of the labels, and the label of rank k
        has a share proportional to 1 / k, at least MIN_TEXTS texts, and at most all of its texts."""
        size = len(self._orders(NATURAL)[0])
        return self._part(NATURAL, self._by_rank(self._unseen(size), self._answers, size))

    def natural_test(self) -> Path:
        """Test texts with the same order of the labels, other ones for every seed."""
        answers = list(self._table("test")["label"])
        rows = random.Random(f"natural test {self.seed}").sample(range(len(answers)), len(answers))
        size = min(self.profile.test or len(answers), len(answers))
        return self._part("test-natural", self._by_rank(rows, answers, size), "test")

    def known_texts(self) -> list[str]:
        """Every text that a part of this seed may have."""
        size = len(self._orders("shared")[0])
        tables = [self._table("train").select(self._order(size)[: REACH * size])]
        tables += [self._table(part) for part in ("validation", "test")]
        columns = ("text", "text_pair") if self.dataset.pairs else ("text",)
        return [text for table in tables for column in columns for text in table[column]]

    def _by_rank(self, rows: list[int], answers: list[int], size: int) -> list[int]:
        """The first rows of every label, as many as its rank gives it, in a new order."""
        labels = sorted(set(answers))
        draw = random.Random(f"{NATURAL} {self.seed}")
        ranked, all_ranks = draw.sample(labels, len(labels)), sum(1 / k for k in range(1, len(labels) + 1))
        kept: list[int] = []
        for rank, label in enumerate(ranked, 1):
            there = [row for row in rows if answers[row] == label]
            kept += there[: max(MIN_TEXTS, round(size / rank / all_ranks))]
        return draw.sample(kept, len(kept))

    @property
    def has_foreign(self) -> bool:
        return (self.data / FOREIGN).is_dir()

    def foreign(self, n: int) -> datasets.Dataset:
        """n Wikipedia sentences, other ones for every seed."""
        table = read(self.data / FOREIGN / "train.parquet")
        rows = random.Random(f"foreign {self.seed}").sample(range(len(table)), n)
        return table.select(rows).select_columns(["text"])

    def test(self) -> Path:
        """The test texts: the same for every seed."""
        table = self._table("test")
        n = min(self.profile.test or len(table), len(table))
        return self._part("test", random.Random("test").sample(range(len(table)), n), "test")

    def validation(self) -> Path:
        """Labelled texts: as many as the profile says. If it says nothing: all, if it takes all training texts, else as many as the rule
        without labels holds out of a pool (MUKA: 5 % of the training texts)."""
        table, n = self._table("validation"), len(self._orders("shared")[0])
        size = self.profile.validation or (len(table) if self.profile.texts is None else round(0.05 * n))
        rows = random.Random(f"validation {self.seed}").sample(range(len(table)), min(len(table), size))
        return self._part("validation", rows, "validation")

    def few(self, n: int) -> Path:
        """n labelled texts for every label, or all if there are fewer. They are in no other part. They are the first ones of the seed's order,
        so a larger n includes the texts of a smaller one."""
        answers = list(self._table("validation")["label"])
        order = random.Random(f"few {self.seed}").sample(range(len(answers)), len(answers))
        rows = [row for label in sorted(set(answers)) for row in [k for k in order if answers[k] == label][:n]]
        return self._part(f"few{n}", rows, "validation")

    def _table(self, part: str) -> datasets.Dataset:
        """All rows of "train", "validation" or "test"."""
        folder, sources = self.data / (self.dataset.folder or self.dataset.name), self.dataset.sources
        table = read(folder / f"{part}.parquet")
        if not sources:
            return table
        kept = table.select([row for row, source in enumerate(table["source"]) if source in sources])
        labels = [self.dataset.labels.index(sources[source]) for source in kept["source"]]
        return kept.add_column("label", labels)

    def _halved(self, pool: str) -> bool:
        return self.profile.texts is None and (
            pool in ("disjoint", MANY, NATURAL) or pool in UNSEEN_FOREIGN or pool in SKEWED
        )

    def _orders(self, pool: str) -> tuple[list[int], list[int]]:
        """Rows of the training file: the teachers' own, and as many others."""
        n = len(self._answers)
        size = n // 2 if self._halved(pool) else min(self.profile.texts or n, n)
        order = self._order(size)
        return order[:size], order[size : 2 * size]

    def _unseen(self, size: int) -> list[int]:
        """Rows of the training file from which no teacher learned."""
        return self._order(size)[size : REACH * size]

    @cached_property
    def _answers(self) -> list[int]:
        return list(self._table("train")["label"])

    def _order(self, size: int) -> list[int]:
        """A seed's own order of all rows. Teachers cannot learn a label without a text. So if the first `size` rows have no text of a label, its
        next row changes places with the last of these rows whose label has another text."""
        n, answers = len(self._answers), self._answers
        order = random.Random(f"texts {self.seed}").sample(range(n), n)
        counts = Counter(answers[row] for row in order[:size])
        for label in (label for label in sorted(set(answers)) if not counts[label]):
            there = next(k for k in range(size, n) if answers[order[k]] == label)
            here = next(k for k in reversed(range(size)) if counts[answers[order[k]]] > 1)
            counts[answers[order[here]]] -= 1
            counts[label] += 1
            order[here], order[there] = order[there], order[here]
        return order

    def _named(self, rows: list[int], file: str) -> dict[str, list[str | None]]:
        table = self._table(file).select(rows)
        pair = {"text_pair": list(table["text_pair"])} if self.dataset.pairs else {}
        return {"text": list(table["text"]), **pair, "label": [self.dataset.labels[i] for i in table["label"]]}

    def _part(self, name: str, rows: list[int], file: str = "train") -> Path:
        target = self.folder / f"{name}.parquet"
        if not target.exists():
            write(self._named(rows, file), target)
        return target

    def _mixed(self, name: str, rows: list[int], foreign: int) -> Path:
        target = self.folder / f"{name}.parquet"
        if not target.exists():
            own = self._named(rows, "train")
            texts: list[str | None] = [*own["text"], *self.foreign(foreign)["text"]]
            labels = [*own["label"], *[None] * foreign]
            order = random.Random(f"mixed {self.seed}").sample(range(len(texts)), len(texts))
            write({"text": [texts[i] for i in order], "label": [labels[i] for i in order]}, target)
        return target


class MissingData(FileNotFoundError):
    """A file of a data set is not in the folder of data sets. No outcome of a cell: it can be run later."""


def read(path: Path) -> datasets.Dataset:
    """The rows of a Parquet file. MissingData if there is no such file."""
    if not path.is_file():
        raise MissingData(
            f"expected the file {path}; it is not there (benchmarks/DATA.md says how to get each data set)"
        )
    return datasets.Dataset.from_parquet(str(path), keep_in_memory=True)


def write(columns: dict[str, list[str | None]], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(f".{os.getpid()}.tmp")  # another process may write the same file
    datasets.Dataset.from_dict(columns).to_parquet(str(temporary))
    temporary.replace(target)
