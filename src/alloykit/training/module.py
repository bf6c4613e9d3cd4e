"""Student and method in one module whose forward returns the loss, so that every launcher can wrap it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from alloykit.methods.base import Context, Lesson, Method, Phase, StudentOutput
from alloykit.rows import Rows
from alloykit.teachers.fast_dropout import FastMasks

STUDENT_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Amalgam(nn.Module):
    """`student` and the method's `modules`. forward → {"loss": scalar, "per_text": [B], "logits": [B, C]}.

    "loss" is the mean over the batch's texts of the sum of all terms; batch-coupled terms are scalars already.
    """

    def __init__(self, student: Any, method: Method, modules: nn.ModuleDict, context: Context, phase: Phase) -> None:
        super().__init__()
        self.student, self.modules_of_method = student, modules
        self.method, self.context, self.phase = method, context, phase
        self.config = student.config

    def forward(self, rows: dict[str, Any], row: Tensor | None = None, **inputs: Any) -> dict[str, Tensor]:
        needs = self.method.needs
        with self._masks():
            out = self.student(
                **{k: v for k, v in inputs.items() if k in STUDENT_INPUTS},
                output_hidden_states=needs.student_hidden_states,
                output_attentions=needs.student_attentions,
            )
        known = Rows.from_batch(rows)
        with torch.no_grad():
            supervision = self.method.supervise(known, self.context)
        student = StudentOutput(
            out.logits.float(), inputs.get("attention_mask"), out.get("hidden_states"), out.get("attentions")
        )
        terms = self.method.loss(Lesson(student, known, supervision, self.modules_of_method, self.context, self.phase))
        n = len(student.logits)
        per_text = torch.stack([term.expand(n) for term in terms.values()]).sum(0)
        return {"loss": per_text.mean(), "per_text": per_text.detach(), "logits": student.logits.detach()}

    def _masks(self) -> AbstractContextManager[Any]:
        """On a CPU the student's dropout comes from fast masks, seeded by torch's generator: a resumed run draws the same."""
        if not self.training or next(self.parameters()).device.type != "cpu" or torch.compiler.is_compiling():
            return nullcontext()
        return FastMasks(int(torch.randint(2**62, (1,))))
