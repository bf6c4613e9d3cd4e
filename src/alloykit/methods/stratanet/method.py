"""StrataNet: amalgamation block by block, weighted by the distance of a text from each teacher's training classes (Vijayaraghavan et al. 2024).

Per teacher i and block b, z_i^b(x): mean over tokens, then over the block's layers. OOD score and confidence (Eqs. 2–4):

    RMD_i^b = min_k MD_k(z_i^b) − MD_0(z_i^b)          c_i^b = σ(α_i^b RMD_i^b + β_i^b)

Amalgamation (Eqs. 5–6), with a learnable token [AMALG] for every block:

    e_i^b = W_h^i h_i^b + W_c c_i^b          A^b = TransformerLayer([AMALG; e_1^b; …; e_N^b]) at [AMALG]

Losses (Eqs. 7–8):

    L_inter = mean_b ‖ A^b/‖A^b‖ − P_b(h_s^b)/‖P_b(h_s^b)‖ ‖²          L_out = KL(T ‖ q), T(x) = Σ_i ĉ_i Pad_i(p_i), temperature 0.75
    L = λ L_inter + (1 − λ) L_out

Our copy of the paper lacks its formulas. These parts are reconstructed or ours:

- the logistic scale of c, fitted to the teacher's own generated texts against those of the others
- ĉ = softmax_i(logit(c_i) / τ) of the last block
- the temperature, which acts within each teacher's labels only, and its square, by which that part of L_out is multiplied (`grouped_kl`)
- blocks as even as possible, and h_i^b = z_i^b
- A^b does not follow the student: it is detached in L_inter, and learns by reconstructing the confidence-weighted teacher states and by a
  linear head that predicts T(x)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from alloykit.losses.hidden import masked_mean
from alloykit.losses.kl import grouped_kl, kl
from alloykit.methods.protocol import (
    Context,
    LossInputs,
    Method,
    MethodOptions,
    Needs,
    State,
    Step,
    Supervision,
    uniform_weights,
)
from alloykit.methods.report_sections import MethodReport, Section, Series
from alloykit.methods.stratanet.blocks import Confidence, collapse, fit_confidence, normalised_distance, pooled_blocks
from alloykit.outputs import Rows, Source

CLIP = 1e-4  # c and 1 − c are no smaller
LIMIT = math.log((1 - CLIP) / CLIP)


class StrataNetOptions(MethodOptions):
    confidence: Literal["rmd", "md", "msp"] = "rmd"
    """From relative Mahalanobis distances, from plain ones, or the maximum probability (Fig. 3A)."""
    background: Literal["mixed", "own"] = "mixed"
    """The texts of the background of `rmd`. mixed: of the teacher's labels, and as many of other labels (ours); own: of the teacher's labels only."""
    amalgam: Literal["st", "mul", "linear"] = "st"
    """st: Eqs. 5–6; mul: e = c W h (StrataNet_mul); linear: A = Σ_i c_i W_i h_i (StrataNet_noST; W_i = W for
    teachers of one width in the paper, ours where widths differ)."""
    intermediate: float = Field(0.7, ge=0, le=1)
    """λ of Eq. 8; above ½ works best (Fig. 4), 0.7 is ours."""
    temperature: float = Field(0.75, gt=0)
    """Of the teachers' outputs and the student's, within each teacher's labels (Table 4)."""
    sharpness: float = Field(1.0, gt=0)
    """τ: the lower, the more the most confident teacher's answer counts (ours)."""
    heads: int = Field(4, gt=0)
    """Attention heads of the amalgamation layer (ours); fewer if their number does not divide the student's width. Its feed-forward part is twice as wide as
    the student, and it has no dropout (ours)."""
    auxiliary: float = Field(1.0, ge=0)
    """Weight of the two losses from which A^b learns (ours)."""


class StrataNet(Method):
    """Blocks of the student follow blocks of all teachers, merged by confidence."""

    name = "stratanet"
    title = "StrataNet: teachers merged block by block, by distance from what each knows"
    reference = "Vijayaraghavan et al. 2024"
    citation = (
        "Prashanth Vijayaraghavan, Hongzhi Wang, Luyao Shi, Tyler Baldwin, David Beymer, Ehsan Degan. Self-Regulated Data-Free "
        "Knowledge Amalgamation for Text Classification. NAACL 2024."
    )
    softened_by = "temperature"
    Options = StrataNetOptions
    options: StrataNetOptions

    @property
    def needs(self) -> Needs:
        return Needs(teachers=2, pooled_states=True, generated_texts=True, student_hidden_states=True)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """All of them."""
        return tuple(tuple(range(1, t.layers + 1)) for t in context.teachers)

    def fit(self, pool: Source, context: Context) -> State:
        """Gaussians and logistic curves from the texts that were generated for each teacher, halves for each."""
        if self.options.confidence == "msp":
            return {}
        mixed = self.options.background == "mixed"
        return fit_confidence(context, relative=self.options.confidence == "rmd", mixed=mixed)

    def modules(self, context: Context) -> nn.ModuleDict:
        student = context.student_shape
        width, heads = student.hidden_size, self.options.heads
        parts = [
            Amalgamation(
                [t.hidden_size for t in context.teachers], width, heads, self.options.amalgam, context.space.size
            )
            for _ in range(student.layers)
        ]
        return nn.ModuleDict({"blocks": nn.ModuleList(parts)})

    def log_odds(self, rows: Rows, context: Context) -> Tensor:
        """log c_i^b / (1 − c_i^b), [B, N, blocks] float64, not clipped."""
        depth = context.student_shape.layers
        if self.options.confidence == "msp":
            largest = torch.stack([t.probabilities().double().amax(-1) for t in rows.teachers], -1)
            return torch.logit(largest, eps=1e-12).unsqueeze(-1).expand(-1, -1, depth)
        return Confidence(context, relative=self.options.confidence == "rmd")(rows, depth)

    def confidences(self, rows: Rows, context: Context) -> Tensor:
        """c_i^b, [B, N, blocks] float32 in [1e-4, 1 − 1e-4], where the rows are."""
        c = torch.sigmoid(self.log_odds(rows.in_float64(), context)).clamp(CLIP, 1 - CLIP).float()
        return c.to(rows.teachers[0].logits.device)

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        """Targets with ĉ. The teachers' weights are computed without the clip, which would make ties."""
        last = self.log_odds(rows, context)[..., -1]
        clipped = last.clamp(-LIMIT, LIMIT)
        shares = rows.weighed(torch.softmax(clipped / self.options.sharpness, -1).float())
        padded = [
            context.space.scatter(i, t.probabilities(self.options.temperature)) for i, t in enumerate(rows.teachers)
        ]
        targets = (shares.unsqueeze(-1) * torch.stack(padded, 1)).sum(1)
        weights = rows.weighed(torch.softmax(last / self.options.sharpness, -1).float())
        return Supervision(targets, uniform_weights(targets), weights)

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        o, student, context = self.options, inputs.student, inputs.context
        if student.hidden_states is None or student.attention_mask is None:
            raise TypeError("stratanet needs the student's hidden states")
        parts = cast("list[Amalgamation]", inputs.modules["blocks"])
        depth, dtype = len(parts), parts[0].project.weight.dtype
        c = self.confidences(inputs.rows, context).to(dtype)
        states = [pooled_blocks(t, depth).to(dtype) for t in inputs.rows.teachers]  # [B, depth, d_i] each
        inter, learns = [], []
        for b, part in enumerate(parts):
            h = [s[:, b] for s in states]
            merged = part(h, c[..., b])
            projected = part.project(masked_mean(student.hidden_states[b + 1].to(dtype), student.attention_mask))
            inter.append(normalised_distance(merged.detach(), projected))
            learns.append(part.reconstruction_loss(merged, h, c[..., b], inputs.target.targets.to(dtype)))
        groups = context.space.components().to(student.logits.device)
        out = grouped_kl(inputs.target.targets, student.logits, groups, o.temperature)
        return {
            "inter": o.intermediate * torch.stack(inter).mean(0),
            "out": (1 - o.intermediate) * out,
            "amalgam": o.auxiliary * torch.stack(learns).mean(0),
        }

    @property
    def several_processes(self) -> bool:
        return not self.batch_coupled  # after_step only notes numbers, of process 0's share

    def after_step(self, step: Step) -> None:
        """Log the similarity and the effective rank of the A^b of different texts in the worst block, to detect a collapse."""
        if not step.logs:
            return
        parts, rows = cast("list[Amalgamation]", step.modules["blocks"]), step.rows[-1]
        dtype = parts[0].project.weight.dtype
        c = self.confidences(rows, step.context).to(dtype)
        states = [pooled_blocks(t, len(parts)).to(dtype) for t in rows.teachers]
        found = [collapse(part([s[:, b] for s in states], c[..., b])) for b, part in enumerate(parts)]
        if all(f is not None for f in found):
            alike, rank = zip(*(f for f in found if f is not None), strict=True)
            step.log({"amalgam_cosine": max(alike), "amalgam_rank": min(rank)})  # of the worst block

    def training_report(
        self, modules: nn.ModuleDict, context: Context, teachers: Sequence[str], history: Sequence[Mapping[str, Any]]
    ) -> MethodReport:
        """Whether the amalgamated states collapsed."""
        noted = [h for h in history if "amalgam_rank" in h]
        if not noted:
            return MethodReport()
        shown = {
            "amalgam_cosine": ("mean cosine", "How alike different texts' amalgamated states are (mean cosine), in the block where they are most alike. Near 1 they have collapsed into one."),
            "amalgam_rank": ("effective rank", "Effective rank of a batch's amalgamated states, in the block where it is lowest. Near 1 they have collapsed."),
        }  # fmt: skip
        parts = tuple(
            Series(
                caption=caption,
                x="step",
                y=y,
                points=tuple(h["step"] for h in noted),
                lines={y: tuple(h[key] for h in noted)},
            )
            for key, (y, caption) in shown.items()
        )
        return MethodReport(sections=(Section(title="Amalgamated states", parts=parts),))


class Amalgamation(nn.Module):
    """One block: Eqs. 5–6, the projection P_b of the student's state, and the losses from which A^b learns."""

    def __init__(
        self, widths: list[int], width: int, heads: int, kind: Literal["st", "mul", "linear"], labels: int
    ) -> None:
        super().__init__()
        self.kind = kind
        self.enrich = nn.ModuleList(nn.Linear(w, width, bias=False) for w in widths)  # W_h^i
        self.project = nn.Linear(width, width)  # P_b
        self.rebuild = nn.ModuleList(nn.Linear(width, w) for w in widths)
        self.head = nn.Linear(width, labels)
        if kind != "linear":
            while width % heads:
                heads -= 1
            self.token = nn.Parameter(torch.randn(width) * 0.02)  # [AMALG]
            self.layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        if kind == "st":
            self.sureness = nn.Linear(1, width, bias=False)  # W_c

    def forward(self, states: list[Tensor], c: Tensor) -> Tensor:
        """h_i^b [B, d_i] each, c [B, N] → A^b [B, d]."""
        enriched = torch.stack([w(h) for w, h in zip(self.enrich, states, strict=True)], 1)  # [B, N, d]
        if self.kind == "linear":
            return (c.unsqueeze(-1) * enriched).sum(1)
        e = enriched + self.sureness(c.unsqueeze(-1)) if self.kind == "st" else c.unsqueeze(-1) * enriched
        sequence = torch.cat([self.token.to(e).expand(len(e), 1, -1), e], 1)
        merged: Tensor = self.layer(sequence)[:, 0]
        return merged

    def reconstruction_loss(self, merged: Tensor, states: list[Tensor], c: Tensor, target: Tensor) -> Tensor:
        """Σ_i c_i ‖D_i(A) − h_i‖² / (d_i Σ_i c_i) + KL(T ‖ softmax(head(A))). [B]"""
        shares = c / c.sum(-1, keepdim=True)
        far = [
            functional.mse_loss(d(merged), h, reduction="none").mean(-1)
            for d, h in zip(self.rebuild, states, strict=True)
        ]
        return (shares * torch.stack(far, -1)).sum(-1) + kl(target, self.head(merged))
