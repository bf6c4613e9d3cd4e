"""Does RL-KD's policy learn? A constructed task: one teacher is correct on half of the texts, the other on the rest.

Texts are twelve random words. Two sets of words stand for the two classes; every text has six words of its class; a text that has
the word "left" is teacher 1's, one that has "right" teacher 2's. A teacher says the label at 95 % on its own texts, and on the
other's the wrong one, also at 95 %. "Right of those selected" is Σ π of the right teacher over Σ π of both: how often a teacher that is selected
is the right one. In the control each text gets some text's reward of an earlier step. (Shuffled within the step rewards still tell
something: a step that selected more right teachers improves more.) Five seeds each: texts, teachers, student and policy.
α, β and the epochs were chosen with seeds 10 and 11.
"""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.data import load_texts
from alloykit.knowledge.online.encoder_states import EncoderReading, text_states
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, ModelShape, Step
from alloykit.methods.rl_kd.method import RLKD
from alloykit.methods.rl_kd.policy import Policy, features
from alloykit.outputs import Rows, Source, TeacherRows
from alloykit.precision import choose_precision
from alloykit.progress import log_line, set_quiet
from alloykit.training.dataset import Collator, tokenize
from alloykit.training.student import build_student
from alloykit.training.trainer import train
from alloykit.training.training_options import StudentSpec, TrainingOptions
from benchmarks.speed.measure import Measurement, device

SEEDS, TEXTS, CONFIDENCE = (0, 1, 2, 3, 4), 2000, 0.95
CLASSES = (
    ["river", "mountain", "forest", "lake", "valley", "island", "desert", "ocean", "meadow", "canyon"],
    ["engine", "wheel", "hammer", "drill", "piston", "bolt", "lever", "gear", "motor", "chain"],
)
REWARDS = ("improvement", "shuffled", "reward1", "reward2", "reward3")
OPTIONS: dict[str, Any] = {"alpha": 0.7, "policy_learning_rate": 0.05, "pretrain_epochs": 0, "policy_epochs": 0}
TRAINING: dict[str, Any] = {
    "epochs": 8, "learning_rate": 1e-4, "batch_size": 32, "max_length": 24, "select": "last", "held_out": 0.0,
}  # fmt: skip


class Shuffled(RLKD):
    """The control: the rewards of other texts, of earlier steps."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.earlier = torch.zeros(1)

    def _rewards(self, step: Step, actions: Tensor, before: Tensor) -> Tensor:
        rewards = super()._rewards(step, actions, before)
        drawn = self.earlier.to(rewards)[torch.randint(len(self.earlier), (len(rewards),))]
        self.earlier = torch.cat([self.earlier, rewards.detach().cpu()])
        return drawn


class Known:
    """All rows in memory."""

    def __init__(self, rows: Rows) -> None:
        self.everything = rows

    def __len__(self) -> int:
        return len(self.everything.teachers[0].logits)

    def rows(self, indices: Any) -> Rows:
        at = torch.as_tensor(list(indices))
        teachers = tuple(TeacherRows(t.logits[at]) for t in self.everything.teachers)
        labels, states = self.everything.labels, self.everything.text_states
        return Rows(teachers, None if labels is None else labels[at], None if states is None else states[at])


def run(data: Path, work: Path) -> dict[str, Any]:
    found: dict[str, list[dict[str, float]]] = {}
    for reward in REWARDS:
        for seed in SEEDS:
            set_quiet(True)
            found.setdefault(reward, []).append(once(reward, seed))
            set_quiet(False)
            log_line(f"{reward}, seed {seed}: {found[reward][-1]}")
    return {"texts": TEXTS, "options": OPTIONS, "training": TRAINING, "rewards": found}


def once(reward: str, seed: int) -> dict[str, float]:
    """Train student and policy together; how the policy then selects on the training texts."""
    texts, labels, owner = task(seed)
    table = load_texts(texts)
    with tempfile.TemporaryDirectory() as scratch:
        reading = EncoderReading(ModelSpec(model="bundled:minilm"), "cls", 24, 4096, device())
        states = text_states(reading, table, Path(scratch) / "states")
        source = Known(Rows(teachers(labels, owner), labels, states))
        options = OPTIONS | {"reward": "improvement" if reward == "shuffled" else reward}
        method = (Shuffled if reward == "shuffled" else RLKD)(RLKD.Options(**options))
        space = LabelSpace.union([("nature", "machine")] * 2)
        model, tokenizer = build_student(StudentSpec(model="bundled:minilm", layers=2, keep="even"), space, seed)
        shape = ModelShape(model.config.hidden_size, 2)
        bare = Context(space, student=shape, teachers=(shape, shape), validation=source)
        context = replace(bare, state=dict(method.fit(source, bare)))
        dataset = tokenize(table, tokenizer, 24)
        kept: dict[str, Policy] = {}
        modules = method.modules

        def remember(context: Context) -> Any:
            made = modules(context)
            kept["policy"] = made["policy"]  # type: ignore[assignment]
            return made

        method.modules = remember  # type: ignore[method-assign]
        validation = (dataset.select(range(256)), labels[:256])
        training = TrainingOptions(**TRAINING, seed=seed, precision=choose_precision("auto", device()))
        fitted = train(
            model, Collator(tokenizer, source), method, context, dataset, None, training,
            Path(scratch) / "training", validation=validation, device=device(),
        )  # fmt: skip
        return judged(kept["policy"].cpu(), context, source, owner) | {
            "selected_none": round(float(last(fitted.history, "selected_none")), 3)
        }


def judged(policy: Policy, context: Context, source: Source, owner: Tensor) -> dict[str, float]:
    rows = source.rows(range(len(source)))
    f = features(rows, context.space)
    chance = policy.selects((f - context.state["mean"]) / context.state["spread"])
    right, wrong = chance.gather(1, owner[:, None]).squeeze(1), chance.gather(1, 1 - owner[:, None]).squeeze(1)
    prefers = (right > wrong).double() + 0.5 * (right == wrong).double()
    return {
        "right_of_those_selected": round(float(right.sum() / (right + wrong).sum()), 4),
        "prefers_the_right_teacher": round(float(prefers.mean()), 4),
        "selects_the_right_one": round(float(right.mean()), 4),
        "selects_the_wrong_one": round(float(wrong.mean()), 4),
        "expected_empty": round(float(((1 - right) * (1 - wrong)).mean()), 4),
    }


def task(seed: int) -> tuple[list[str], Tensor, Tensor]:
    """Texts, labels and the teacher that is right, both balanced and independent of each other."""
    draw, texts = random.Random(seed), []
    labels, owner = torch.arange(TEXTS) % 2, (torch.arange(TEXTS) // 2) % 2
    for y, who in zip(labels.tolist(), owner.tolist(), strict=True):
        words = draw.choices(CLASSES[y], k=6) + draw.choices(CLASSES[0] + CLASSES[1], k=5) + [("left", "right")[who]]
        draw.shuffle(words)
        texts.append(" ".join(words))
    return texts, labels, owner


def teachers(labels: Tensor, owner: Tensor) -> tuple[TeacherRows, ...]:
    found = []
    for who in range(2):
        answered = torch.where(owner == who, labels, 1 - labels)
        p = torch.full((len(labels), 2), 1 - CONFIDENCE).scatter(1, answered[:, None], CONFIDENCE)
        found.append(TeacherRows(p.log()))
    return tuple(found)


def last(history: list[dict[str, Any]], key: str) -> float:
    return next(h[key] for h in reversed(history) if key in h)


TABLE = Measurement("selection", "RL-KD's policy on a constructed task", run, "distill")
