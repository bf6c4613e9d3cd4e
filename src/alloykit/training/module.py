"""The student and the method's modules as one module whose forward pass returns the loss, so that every launcher can wrap it."""

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
from alloykit.training.student_errors import student_errors

STUDENT_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "others", "inputs_embeds")


def _needs_logits_only(method: Method) -> bool:
    return not (method.needs.student_hidden_states or method.needs.student_attention_scores)


def _with_given_labels(per_text: Tensor, logits: Tensor, given: Tensor) -> Tensor:
    """Texts whose label is given are learned by it: their loss is −log S_label(x). per_text [B], logits [B, C], given [B] (−1: none).

    Of multi-label texts, given [B, C]: their loss is the sum of −log σ(±s_c(x)) over the labels."""
    if given.dim() > 1:
        binary = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, given.clamp(min=0).to(logits), reduction="none"
        )
        return torch.where(given[:, 0] >= 0, binary.sum(-1), per_text)
    by_label = torch.nn.functional.cross_entropy(logits, given.clamp(min=0), reduction="none")
    return torch.where(given >= 0, by_label, per_text)


class TrainingModule(nn.Module):
    """`student` and the method's `modules`. forward → {"loss": scalar, "per_text": [B], "logits": [B, C]}.

    "loss" is the mean over the texts of the batch of the sum of all terms. Batch-coupled terms are already scalars.
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
        self.config, self.compiled = student.config, compiled
        # Not with torch.compile, which would see a new forward function each time.
        self.lean = LeanLastLayer(student) if _needs_logits_only(method) and not compiled else nullcontext()

    def forward(self, rows: dict[str, Any], row: Tensor | None = None, **inputs: Any) -> dict[str, Tensor]:
        needs = self.method.needs
        scores = AttentionScores() if needs.student_attention_scores else None
        with student_errors(self.student), self._masks(), self.lean, scores or nullcontext():
            out = self.student(
                **{k: v for k, v in inputs.items() if k in STUDENT_INPUTS},
                output_hidden_states=needs.student_hidden_states,
            )
        teacher_rows = Rows.from_batch(rows)
        with torch.no_grad():
            supervision = supervised(self.method, teacher_rows, self.context, len(out.logits))
        student = StudentOutput(
            out.logits.float(),
            inputs.get("attention_mask"),
            out.get("hidden_states"),
            None if scores is None else scores.of(self.student),
        )
        modules, context = self.modules_of_method, self.context
        loss_inputs = LossInputs(
            student,
            teacher_rows,
            supervision,
            modules,
            context,
            self.phase,
            lambda: self.eval_logits(inputs),
            self.training,
        )
        terms = self.method.loss(loss_inputs)
        n = len(student.logits)
        per_text = torch.stack([term.expand(n) for term in terms.values()]).sum(0)
        if teacher_rows.given is not None:
            per_text = _with_given_labels(per_text, student.logits, teacher_rows.given)
        if isinstance(terms, SkippedStep):  # the gradient is empty, so no weight moves
            per_text = per_text.detach() + per_text.new_zeros((), requires_grad=True)
        return {"loss": per_text.mean(), "per_text": per_text.detach(), "logits": student.logits.detach()}

    @torch.no_grad()
    def eval_logits(self, inputs: Mapping[str, Any]) -> Tensor:
        """The current student's logits without dropout, [B, C] float32."""
        was_training = self.student.training
        self.student.eval()
        with self.lean:
            logits: Tensor = self.student(**{k: v for k, v in inputs.items() if k in STUDENT_INPUTS}).logits
        self.student.train(was_training)
        return logits.float()

    def _masks(self) -> AbstractContextManager[Any]:
        """Fast dropout masks for the student on a CPU. Torch's generator seeds them, so that a resumed run draws the same masks."""
        if not self.training or next(self.parameters()).device.type != "cpu" or torch.compiler.is_compiling():
            return nullcontext()
        return FastMasks(int(torch.randint(2**62, (1,))))
