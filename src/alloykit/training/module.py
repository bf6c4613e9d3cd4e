"""Student and method in one module whose forward returns the loss, so that every launcher can wrap it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from alloykit.methods.protocol import Context, LossInputs, Method, Phase, SkippedStep, StudentOutput
from alloykit.methods.requirements import supervised
from alloykit.models.attention import AttentionScores
from alloykit.models.fast_dropout import FastMasks
from alloykit.models.last_layer import LeanLastLayer
from alloykit.outputs import Rows

STUDENT_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "others", "inputs_embeds")


def _reads_answers_only(method: Method) -> bool:
    return not (method.needs.student_hidden_states or method.needs.student_attention_scores)


class Amalgam(nn.Module):
    """`student` and the method's `modules`. forward → {"loss": scalar, "per_text": [B], "logits": [B, C]}.

    "loss" is the mean over the batch's texts of the sum of all terms; batch-coupled terms are scalars already.
    """

    def __init__(
        self,
        student: Any,
        method: Method,
        modules: nn.ModuleDict,
        context: Context,
        phase: Phase,
        *,
        compiled: bool = False,
    ) -> None:
        super().__init__()
        self.student, self.modules_of_method = student, modules
        self.method, self.context, self.phase = method, context, phase
        self.config = student.config
        # Not while compiling: the compiler would see another forward each time.
        self.lean = LeanLastLayer(student) if _reads_answers_only(method) and not compiled else nullcontext()

    def forward(self, rows: dict[str, Any], row: Tensor | None = None, **inputs: Any) -> dict[str, Tensor]:
        needs = self.method.needs
        scores = AttentionScores() if needs.student_attention_scores else None
        with self._masks(), self.lean, scores or nullcontext():
            out = self.student(
                **{k: v for k, v in inputs.items() if k in STUDENT_INPUTS},
                output_hidden_states=needs.student_hidden_states,
            )
        known = Rows.from_batch(rows)
        with torch.no_grad():
            supervision = supervised(self.method, known, self.context, len(out.logits))
        student = StudentOutput(
            out.logits.float(),
            inputs.get("attention_mask"),
            out.get("hidden_states"),
            None if scores is None else scores.of(self.student),
        )
        modules, context = self.modules_of_method, self.context
        loss_inputs = LossInputs(
            student, known, supervision, modules, context, self.phase, lambda: self.answer(inputs), self.training
        )
        terms = self.method.loss(loss_inputs)
        n = len(student.logits)
        per_text = torch.stack([term.expand(n) for term in terms.values()]).sum(0)
        if isinstance(terms, SkippedStep):  # a gradient of nothing, so that no optimiser moves anything
            per_text = per_text.detach() + per_text.new_zeros((), requires_grad=True)
        return {"loss": per_text.mean(), "per_text": per_text.detach(), "logits": student.logits.detach()}

    @torch.no_grad()
    def answer(self, inputs: Mapping[str, Any]) -> Tensor:
        """The student's logits as they are now, without dropout. [B, C] float32"""
        learning = self.student.training
        self.student.eval()
        with self.lean:
            logits: Tensor = self.student(**{k: v for k, v in inputs.items() if k in STUDENT_INPUTS}).logits
        self.student.train(learning)
        return logits.float()

    def _masks(self) -> AbstractContextManager[Any]:
        """On a CPU the student's dropout comes from fast masks, seeded by torch's generator: a resumed run draws the same."""
        if not self.training or next(self.parameters()).device.type != "cpu" or torch.compiler.is_compiling():
            return nullcontext()
        return FastMasks(int(torch.randint(2**62, (1,))))
