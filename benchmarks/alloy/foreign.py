"""Pools with foreign texts of many kinds: Alloy without a background, always with one, and as Eq. 20 decides. Routed answers; no students."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoTokenizer

from alloykit.knowledge.sweep.sweep import sweep
from alloykit.labels import LabelSpace
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.method import log_answers
from alloykit.methods.alloy.mixture import View
from alloykit.methods.alloy.states import StateSpace, raw_states
from alloykit.methods.alloy.target import clarity, target
from alloykit.outputs import chunks
from alloykit.progress import log_line
from benchmarks.alloy.foreign_texts import texts_of_a_source
from benchmarks.alloy.methods import ALLOY
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.targets import TABLE as TARGETS
from benchmarks.harness.data import read, write
from benchmarks.harness.stages import Stages
from benchmarks.harness.summary import balanced
from benchmarks.speed.measure import Measurement

SOURCES = ("wiki_sentences", "sst2", "qqp_10k", "banking77", "abstracts5", "ag_news")  # of foreign texts
SHARES = (0.0, 0.2, 0.35, 0.5)  # of a pool of SIZE texts, or of fewer if there are not enough
SIZE, OF_A_SOURCE = 1500, 750
NAMES = (
    "ag_news", "ag_news-barely", "abstracts5", "banking77-3", "banking77-10",
    "google_snippets", "stackoverflow20", "stackoverflow20-4", "ohsumed-4",
)  # fmt: skip
WAYS: dict[str, bool | None] = {"without": False, "with": True, "decided": None}
SEED, DIMENSIONS = 0, 128


@dataclass(frozen=True)
class Seen:
    """What teachers and encoder give for some texts. logits: [n, C_i] each; states [n, d], of which the first `of_teachers` are the teachers';
    labels [n]: −1 for a foreign text; sources: of each text, "" for the set's own."""

    space: LabelSpace
    logits: list[Tensor]
    states: Tensor
    of_teachers: int
    labels: Tensor
    sources: np.ndarray[Any, Any]

    def part(self, at: Tensor) -> Seen:
        logits = [values[at] for values in self.logits]
        return Seen(self.space, logits, self.states[at], self.of_teachers, self.labels[at], self.sources[at.numpy()])


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for name in NAMES:
        setting = next(s for s in settings() if s.name == name)
        everything = _seen(Stages(data, work.parent, setting, TARGETS.sized, SEED, passes=0), data, work / name)
        for source in sorted(set(everything.sources)):
            for share in SHARES:
                if bool(source) == bool(share):
                    about = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE}
                    found.append(
                        about | {"source": source, "share": share} | _compared(_pool(everything, source, share))
                    )
                    log_line(str(found[-1]))
    return {"pools": found}


def _seen(stages: Stages, data: Path, folder: Path) -> Seen:
    """The set's own pool and texts of all other sources, of which the trimmed encoder has all word pieces."""
    own = read(stages.pool("disjoint"))
    texts, labels, sources = list(own["text"]), list(own["label"]), [""] * len(own)
    tokenizer = AutoTokenizer.from_pretrained(str(stages.teacher_folders("disjoint")[0]))
    for source in (s for s in SOURCES if s not in stages.setting.datasets):
        taken = texts_of_a_source(data, source, tokenizer, OF_A_SOURCE)
        texts, labels, sources = texts + taken, labels + [None] * len(taken), sources + [source] * len(taken)
    path = folder / "texts.parquet"
    write({"text": texts, "label": labels}, path)
    read_texts = stages.texts_of(path, want_labels=False)
    method = {"name": "routing", "of": ALLOY}
    prepared = stages.prepared("disjoint", read_texts, method)
    sweep(prepared.infos, prepared.texts, prepared.store(stages.knowledge("disjoint")), prepared.sweep_options())
    prepared, outputs = stages.outputs("disjoint", read_texts, method)
    batches = list(chunks(outputs))
    states = [raw_states(rows) for rows in batches]
    position = {label: n for n, label in enumerate(prepared.space.names)}
    of = {text: (position.get(label, -1), source) for text, label, source in zip(texts, labels, sources, strict=True)}
    kept = [of[text] for text in read_texts.table["text"]]
    return Seen(
        prepared.space,
        [torch.cat([rows.teachers[i].logits.double() for rows in batches]) for i in range(prepared.space.n_teachers)],
        torch.cat([s for s, _ in states]),
        states[0][1],
        torch.tensor([label for label, _ in kept]),
        np.array([source for _, source in kept]),
    )


def _pool(everything: Seen, source: str, share: float) -> Seen:
    """Texts of the set, `share` of them replaced by texts of the source."""
    draw = np.random.default_rng(SEED)
    own, foreign = (draw.permutation(np.flatnonzero(everything.sources == name)) for name in ("", source))
    n = min(len(foreign), round(SIZE * share)) if source else 0
    size = round(n / share) if n else SIZE
    return everything.part(torch.from_numpy(np.sort(np.concatenate([own[: size - n], foreign[:n]]))))


def _compared(pool: Seen) -> dict[str, Any]:
    """Balanced accuracy of the best rival, of oracle routing and of Alloy's targets over the texts with a known label."""
    probabilities = [torch.softmax(values, -1) for values in pool.logits]
    energies = torch.stack([values.logsumexp(-1) for values in pool.logits], -1)
    largest = torch.stack([values.amax(-1) for values in pool.logits], -1)
    energies, largest = ((v - v.mean(0)) / v.std(0, correction=0) for v in (energies, largest))
    entropy = torch.stack([1 + (p * p.clamp(min=1e-12).log()).sum(-1) / np.log(p.shape[-1]) for p in probabilities], -1)
    owners = pool.space.has_label()
    asked = torch.where(pool.labels[:, None] >= 0, owners.T[pool.labels.clamp(min=0)], True).double()
    rivals = {
        "ensemble": torch.stack([pool.space.scatter(i, v, fill=-1e9) for i, v in enumerate(pool.logits)]).logsumexp(0),
        "muka-soft": _padded(pool, probabilities, torch.softmax(entropy / 0.2, -1)),
        "energy": _padded(pool, probabilities, _one_hot(energies)),
        "max_logit": _padded(pool, probabilities, _one_hot(largest)),
    }
    of_rivals = {name: _balanced(answers, pool) for name, answers in rivals.items()}
    z = StateSpace.fit(pool.states, pool.of_teachers, DIMENSIONS)(pool.states)
    view = View(z, log_answers(pool.space, probabilities), energies)
    found: dict[str, Any] = {"oracle": _balanced(_padded(pool, probabilities, asked), pool), "rivals": of_rivals}
    for way, background in WAYS.items():
        chosen = ChosenMixture.fit(view, owners, None, background=background, least=100)
        found[way] = _balanced(_targets(chosen, view, probabilities, pool.space), pool)
        if background is None:
            b = chosen.background_share(view, owners)
            found |= {"used": chosen.has_background, "gain": chosen.gain}
            for part, these in {"foreign": pool.labels < 0, "own": pool.labels >= 0}.items():
                found[f"background_of_{part}"] = float(b[these].mean()) if bool(these.any()) else None
    return found


def _targets(chosen: ChosenMixture, view: View, probabilities: list[Tensor], space: LabelSpace) -> Tensor:
    owners = space.has_label()
    r = torch.softmax(chosen.scores(view, owners), -1)
    outside = 1 - chosen.background_share(view, owners)
    clear = clarity(probabilities, r * outside[:, None], owners)
    return target(space, probabilities, r, clear)


def _padded(pool: Seen, probabilities: list[Tensor], weights: Tensor) -> Tensor:
    return torch.stack([weights[:, i, None] * pool.space.scatter(i, p) for i, p in enumerate(probabilities)]).sum(0)


def _one_hot(scores: Tensor) -> Tensor:
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).double()


def _balanced(answers: Tensor, pool: Seen) -> float:
    known = pool.labels >= 0
    return balanced((answers.argmax(-1) == pool.labels)[known].numpy(), pool.labels[known].numpy())


def gains(pools: Sequence[Mapping[str, Any]], way: str) -> list[float]:
    """Balanced accuracy of one way minus that of the best rival, pool by pool."""
    return [pool[way] - max(pool["rivals"].values()) for pool in pools]


TABLE = Measurement("foreign", "pools with foreign texts of many kinds", run, "alloy")
