"""Teachers vote, weighted by how confident each is.

    c_i(x) = (max_y p_i(y | x) − 1/C_i) / (1 − 1/C_i)          0: every label alike, 1: certain, whatever the number of labels C_i
    w(x) = softmax(sharpness · c(x))
    T(x) = Σ_i w_i Pad_i(p_i)          v(x) = floor + (1 − floor) · (w_(1) − w_(2))

w_(1) and w_(2) are the two largest weights. Training minimises mean_x v KL(T ‖ student), the default loss.
"""

from __future__ import annotations

import torch
from pydantic import Field

from alloykit.methods.protocol import Context, Method, MethodOptions, Supervision
from alloykit.outputs import Rows


class ConfidenceVoteOptions(MethodOptions):
    sharpness: float = Field(4.0, gt=0)
    """How much more the most confident teacher counts."""
    floor: float = Field(0.1, ge=0, le=1)
    """Weight of a text on which two teachers are equally confident."""


class ConfidenceVote(Method):
    """T(x) = Σ_i w_i Pad_i(p_i), w by confidence."""

    name = "confidence_vote"
    title = "Teachers vote, weighted by their largest probability"
    reference = "an example"
    Options = ConfidenceVoteOptions
    options: ConfidenceVoteOptions

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        answers = [teacher.probabilities() for teacher in rows.teachers]  # [B, C_i] each
        w = torch.softmax(self.options.sharpness * torch.stack([confidence(p) for p in answers], -1), -1)  # [B, N]
        w = rows.weighed(w)  # 0 for a teacher that has no answer to a text
        targets = sum(w[:, i, None] * context.space.scatter(i, p) for i, p in enumerate(answers))  # [B, C]
        first_two = w.topk(min(2, w.shape[-1]), -1).values
        margin = first_two[:, 0] - first_two[:, 1] if w.shape[-1] > 1 else torch.ones_like(w[:, 0])
        return Supervision(targets, self.options.floor + (1 - self.options.floor) * margin, w)


def confidence(p: torch.Tensor) -> torch.Tensor:
    """c_i, [B] from probabilities [B, C_i]."""
    guess = 1 / p.shape[-1]
    return (p.amax(-1) - guess) / (1 - guess)
