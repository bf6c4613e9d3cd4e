"""Single training steps and checks of a student, to time them. The weights that they change are not kept."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch

from alloykit.methods.protocol import Needs
from alloykit.models.fast_dropout import FastMasks
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.tokens import Encodings, pad
from alloykit.precision import choose_training_precision
from alloykit.training.student_errors import student_errors
from alloykit.training.training_options import TrainingOptions


class StepProbe:
    """The student's part of a step: forward, backward, AdamW, in the recipe's number format. A method's loss takes almost no time."""

    def __init__(self, model: Any, tokenizer: Any, options: TrainingOptions, needs: Needs, device: str) -> None:
        self.model, self.tokenizer, self.options, self.device = model.to(device), tokenizer, options, device
        self.outputs = {"output_hidden_states": needs.student_hidden_states}
        logits_only = not (needs.student_hidden_states or needs.student_attention_scores)
        self.lean = LeanLastLayer(self.model) if logits_only and not options.compile else nullcontext()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-12, fused=True)

    def step(self, encodings: Encodings) -> None:
        """One optimiser step over these texts, in batches of the recipe's size."""
        self.model.train()
        for start in range(0, len(encodings), self.options.batch_size):
            with FastMasks(0) if self.device == "cpu" else nullcontext():
                self._logits(encodings[start : start + self.options.batch_size]).logsumexp(-1).mean().backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.options.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()

    @torch.inference_mode()
    def check(self, encodings: Encodings) -> None:
        """The forward pass of a check."""
        self.model.eval()
        self._logits(encodings).cpu()

    def _logits(self, encodings: Encodings) -> torch.Tensor:
        batch = {key: value.to(self.device) for key, value in pad(self.tokenizer, encodings).items()}
        precision = choose_training_precision(self.options.precision, self.device, self.model.config.model_type)
        use_bfloat16 = precision == "bfloat16"
        with student_errors(self.model), self.lean, torch.autocast(self.device, torch.bfloat16, enabled=use_bfloat16):
            logits: torch.Tensor = self.model(**batch, **self.outputs).logits
        return logits.float()
