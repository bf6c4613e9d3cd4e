"""The texts of a pool that a mixture is fitted to, with all that the fit reads of them (ours: Alloy)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from alloykit.methods.alloy.mixture import View


@dataclass(frozen=True)
class PoolView:
    """n texts. positions [n]: in the pool; probabilities: of each teacher, [n, C_i]; states [n, d]: raw, the first `of_teachers` columns are the teachers'."""

    view: View
    positions: Tensor
    probabilities: list[Tensor]
    states: Tensor
    of_teachers: int

    def __len__(self) -> int:
        return len(self.view)

    def part(self, at: Tensor) -> PoolView:
        probabilities = [p[at] for p in self.probabilities]
        return PoolView(self.view.part(at), self.positions[at], probabilities, self.states[at], self.of_teachers)
