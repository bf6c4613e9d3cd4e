"""Craft embeddings, which belong to no text, for which a teacher predicts a given class (AS-DFD)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.methods.as_dfd.options import AsDfdOptions
from alloykit.methods.protocol import LoadedTeacher
from alloykit.outputs import Rows, TeacherRows
from alloykit.progress import bar

BATCH = 32


@dataclass(frozen=True)
class Crafted(torch.utils.data.Dataset[dict[str, int]]):
    """A dataset of rows alone. `embeddings` [n, L, d] float32, `labels` [n] in the union, `logits` of every teacher [n, C_i]."""

    embeddings: Tensor
    labels: Tensor
    logits: tuple[Tensor, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int) -> dict[str, int]:
        return {"row": i}

    @property
    def lengths(self) -> np.ndarray[Any, Any]:
        return np.full(len(self), self.embeddings.shape[1], dtype=np.int32)


@dataclass(frozen=True)
class CraftedCollator:
    """Hides some positions from the student. The hidden ones are sampled with torch's generator."""

    crafted: Crafted
    share: float
    tokenizer: Any = None

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        at = torch.tensor([f["row"] for f in features])
        e = self.crafted.embeddings[at]
        hidden = sample_hidden(e, self.share)
        teachers = tuple(TeacherRows(z[at]) for z in self.crafted.logits)
        rows = Rows(teachers, self.crafted.labels[at], embeddings=e, hidden=hidden)
        return {
            "inputs_embeds": e.masked_fill(hidden.unsqueeze(-1), 0.0),
            "attention_mask": torch.ones(e.shape[:2], dtype=torch.long),
            "row": at,
            "rows": rows.to_batch(),
        }


def sample_hidden(e: Tensor, share: float) -> Tensor:
    """Positions to hide, never the first or the last. [B, L] bool"""
    hidden = torch.rand(e.shape[:2], device=e.device) < share
    hidden[:, 0] = hidden[:, -1] = False
    return hidden


def self_supervised_loss(predicted: Tensor, embeddings: Tensor, hidden: Tensor) -> Tensor:
    """Mean over a sample's hidden positions and widths of (W h − e)². [B, L, d], [B, L, d], [B, L] bool → [B]."""
    each = ((predicted - embeddings) ** 2).mean(-1)
    mask = hidden.to(each)
    return (each * mask).sum(-1) / mask.sum(-1).clamp(min=1)


def _embedding_width(teacher: LoadedTeacher, length: int) -> int:
    """AlloyError for a teacher that does not read `length` embeddings in place of tokens or give their gradient (BART, T5, Perceiver, Reformer), or
    whose tokenizer has no [CLS] and [SEP] (GPT-2, Llama)."""
    try:
        if None in (teacher.tokenizer.cls_token_id, teacher.tokenizer.sep_token_id):
            raise ValueError("its tokenizer has no tokens [CLS] and [SEP]")
        weight = teacher.model.get_input_embeddings().weight
        with torch.enable_grad():
            embeddings = weight.new_zeros(1, length, weight.shape[1]).requires_grad_()
            mask = torch.ones(1, length, dtype=torch.long, device=weight.device)
            logits = teacher.model(inputs_embeds=embeddings, attention_mask=mask).logits
            torch.autograd.grad(logits.sum(), [embeddings])
    except Exception as error:  # architectures raise many kinds
        problem = next(iter(str(error).splitlines()), "").rstrip(".")
        raise AlloyError(
            expected="teachers that read embeddings in place of tokens, because `as_dfd` crafts embeddings",
            got=f"'{teacher.info.name}', which fails with {type(error).__name__}: {problem[:200]}",
            hint="Leave this teacher out, or take a method that works with texts (`texts: generate`).",
        ) from error
    return int(weight.shape[1])


def craft(
    teachers: Sequence[LoadedTeacher],
    space: LabelSpace,
    student: Any,
    predict: nn.Linear,
    options: AsDfdOptions,
    seed: int,
) -> Crafted:
    """New embeddings for every class of every teacher, against the current student. predict: W. AlloyError if the widths of the embeddings differ, also
    from that of the student's states, or for a teacher that does not read embeddings."""
    width = student.get_input_embeddings().weight.shape[1]
    if width != predict.out_features:
        raise AlloyError(
            expected="a student whose embeddings are as wide as its hidden states, because `as_dfd` predicts the first from the second",
            got=f"embeddings with a width of {width}, and states with {predict.out_features} (as in ELECTRA-small and ALBERT)",
            hint="Take another student, or a method that works with texts (`texts: generate`).",
        )
    for teacher in teachers:
        teacher_width = _embedding_width(teacher, options.length)
        if teacher_width != width:
            raise AlloyError(
                expected=f"teachers whose embeddings are as wide as the student's ({width}), because `as_dfd` shows the same embeddings to both",
                got=f"'{teacher.info.name}' with {teacher_width}",
                hint="Take another student, or a method that works with texts (`texts: generate`).",
            )
    found, labels = [], []
    with torch.random.fork_rng(), bar("embeddings", sum(map(len, space.teachers)) * options.per_class) as advance:
        torch.manual_seed(seed)
        for teacher, names in zip(teachers, space.teachers, strict=True):
            for place, name in enumerate(names):
                for start in range(0, options.per_class, BATCH):
                    n = min(BATCH, options.per_class - start)
                    found.append(_move(teacher, place, n, student, predict, options))
                    labels += [space.position(name)] * n
                    advance(n)
    e = torch.cat(found)
    return Crafted(e, torch.tensor(labels), tuple(_answers(t, e) for t in teachers))


def _move(
    teacher: LoadedTeacher, wanted: int, n: int, student: Any, predict: nn.Module, options: AsDfdOptions
) -> Tensor:
    """Noise between [CLS] and [SEP], moved by Adam. [n, L, d]"""
    table = teacher.model.get_input_embeddings().weight.detach().float()
    first, last = (table[getattr(teacher.tokenizer, f"{t}_token_id")] for t in ("cls", "sep"))
    inner = torch.randn(n, options.length - 2, table.shape[1], device=table.device) * table.std() + table.mean(0)
    inner.requires_grad_()
    optimizer = torch.optim.Adam([inner], lr=options.step_size)
    target = torch.full((n,), wanted, device=table.device)
    was = student.training
    student.eval()
    for _ in range(options.steps):
        e = torch.cat([first.expand(n, 1, -1), inner, last.expand(n, 1, -1)], 1)
        mask = torch.ones(e.shape[:2], dtype=torch.long, device=e.device)
        logits = teacher.model(inputs_embeds=e.to(teacher.model.dtype), attention_mask=mask).logits.float()
        loss = functional.cross_entropy(logits, target)
        if options.adversarial:
            hidden = sample_hidden(e, options.hidden)
            states = student(
                inputs_embeds=e.masked_fill(hidden.unsqueeze(-1), 0.0), attention_mask=mask, output_hidden_states=True
            ).hidden_states[-1]
            loss = loss - options.adversarial * self_supervised_loss(predict(states), e, hidden).mean()
        (inner.grad,) = torch.autograd.grad(loss, [inner])
        optimizer.step()
    student.train(was)
    return torch.cat([first.expand(n, 1, -1), inner.detach(), last.expand(n, 1, -1)], 1).cpu()


@torch.no_grad()
def _answers(teacher: LoadedTeacher, e: Tensor) -> Tensor:
    found = []
    for part in torch.split(e, BATCH):
        mask = torch.ones(part.shape[:2], dtype=torch.long, device=teacher.device)
        part = part.to(teacher.device, teacher.model.dtype)
        found.append(teacher.model(inputs_embeds=part, attention_mask=mask).logits.float().cpu())
    return torch.cat(found)
