"""Figs. 3–5: how well uncertainty separates teachers, the quality of the supervision, and errors of routing. No student is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import confusion_matrix, roc_auc_score
from torch import Tensor

from alloykit.data import Texts
from alloykit.methods.protocol import Context, Method
from alloykit.methods.registry import create
from alloykit.outputs import Source, chunks
from alloykit.serving.predictor import Predictor
from alloykit.stats.entropy import confidence
from benchmarks.harness.stages import Stages

BINS = 20
SPLIT = 0.5  # of v(x), in Fig. 4
SOFT = {"name": "muka", "mode": "soft"}


def uncertainty(stages: Stages, pool: str) -> dict[str, Any]:
    """Fig. 3: normalised entropies of teachers that know the text's label and of those that do not."""
    found = {}
    for name, path in _parts(stages, pool).items():
        prepared, source = stages.outputs(pool, stages.texts_of(path, want_labels=True))
        labels = prepared.labels(prepared.texts)
        right = prepared.space.has_label()[:, labels].T.numpy()
        found[name] = {kind: _told_apart(u.numpy(), right) for kind, u in _entropies(source).items()}
    return {"status": "done", "parts": found}


def _entropies(source: Source) -> dict[str, Tensor]:
    """u / log C of every teacher, [n, N]: from the plain pass, and from the mean over the passes."""
    plain, passes = [], []
    for rows in chunks(source):
        plain.append(torch.stack([1 - confidence(t.probabilities()) for t in rows.teachers], -1))
        passes.append(torch.stack([1 - confidence(t.mean_probabilities()) for t in rows.teachers], -1))
    return {"one pass": torch.cat(plain), "dropout": torch.cat(passes)}


def _told_apart(u: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Histograms over [0, 1]; AUROC of u for teachers that know a text against those that do not; how often the teacher with the lowest u knows the text."""
    return {
        "right": np.histogram(u[right], BINS, (0, 1))[0].tolist(),
        "wrong": np.histogram(u[~right], BINS, (0, 1))[0].tolist(),
        "below_tenth": {"right": float((u[right] < 0.1).mean()), "wrong": float((u[~right] < 0.1).mean())},
        "auroc": float(roc_auc_score(~right.ravel(), u.ravel())),
        "lowest_is_right": float(right[np.arange(len(u)), u.argmin(1)].mean()),
    }


def supervision(stages: Stages, pool: str) -> dict[str, Any]:
    """Fig. 4: KL(reference ‖ supervision), for v ≥ 0.5 and below."""
    reference = Predictor.load(stages.reference(pool), stages.profile.max_length)
    found = {}
    for name, path in _parts(stages, pool).items():
        texts = stages.texts_of(path, want_labels=True)
        soft, v = _targets(stages, pool, texts, SOFT)
        vanilla, _ = _targets(stages, pool, texts, {"name": "vanilla_kd"})
        golden = _golden(reference, texts, stages.setting.space.names)
        kl = {"muka-soft": _kl(golden, soft), "vanilla_kd": _kl(golden, vanilla)}
        groups = {"all": v >= 0, f"v >= {SPLIT}": v >= SPLIT, f"v < {SPLIT}": v < SPLIT}
        found[name] = {
            group: {"texts": int(mask.sum())} | {m: float(k[mask].mean()) if bool(mask.any()) else None for m, k in kl.items()}
            for group, mask in groups.items()
        }  # fmt: skip
    return {"status": "done", "parts": found}


def errors(stages: Stages, pool: str) -> dict[str, Any]:
    """Fig. 5: labels of the texts whose most certain teacher does not know them, v(x) there, and the reference's confusion."""
    reference = Predictor.load(stages.reference(pool), stages.profile.max_length)
    names, found = stages.setting.space.names, {}
    for part, path in _parts(stages, pool).items():
        texts = stages.texts_of(path, want_labels=True)
        prepared, source = stages.outputs(pool, texts, SOFT)
        labels, space = prepared.labels(texts), prepared.space
        supervised = [prepared.method.supervise(rows, Context(space)) for rows in chunks(source)]
        v = torch.cat([s.weights for s in supervised]).double()
        owner = torch.cat([s.teacher_weights for s in supervised if s.teacher_weights is not None]).argmax(-1)
        wrong = ~space.has_label()[owner, labels]
        found[part] = {
            "texts": torch.bincount(labels, minlength=len(names)).tolist(),
            "wrong": torch.bincount(labels[wrong], minlength=len(names)).tolist(),
            "v_where_wrong": float(v[wrong].mean()) if bool(wrong.any()) else None,
            "v_where_right": float(v[~wrong].mean()),
        }
        if part == "test":
            predicted = _golden(reference, texts, names).argmax(-1)
            confusion = confusion_matrix(labels, predicted, labels=range(len(names)))
            found[part] |= {
                "confusion": confusion.tolist(),
                "reference_accuracy": float((predicted == labels).double().mean()),
            }
    return {"status": "done", "labels": list(names), "owners": _owners(stages), "parts": found}


def _owners(stages: Stages) -> list[list[int]]:
    """By label, the teachers that know it."""
    return [torch.nonzero(column).flatten().tolist() for column in stages.setting.space.has_label().T]


def _targets(stages: Stages, pool: str, texts: Texts, spec: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """A method's targets, [n, C], and weights, [n]."""
    prepared, source = stages.outputs(pool, texts, spec)
    method: Method = create(spec)
    found = [method.supervise(rows, Context(prepared.space)) for rows in chunks(source)]
    return torch.cat([s.targets for s in found]).double(), torch.cat([s.weights for s in found]).double()


def _golden(reference: Predictor, texts: Texts, names: tuple[str, ...]) -> Tensor:
    predicted = reference.probabilities(list(texts.table["text"]))
    return predicted[:, [reference.labels.index(name) for name in names]].double()


def _kl(golden: Tensor, target: Tensor) -> Tensor:
    return torch.xlogy(golden, golden / target.clamp(min=1e-12)).sum(-1)


def _parts(stages: Stages, pool: str) -> dict[str, Path]:
    return {"pool": stages.pool(pool), "test": stages.test()}


ANALYSES = {"uncertainty": uncertainty, "supervision": supervision, "errors": errors}
