"""What a classifier's last linear layer reads: one state of each text."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


def logits_layers(model: Any) -> dict[str, nn.Linear]:
    """By name, the linear layers of the head with one output for each label: the last one gives the logits. Empty for a model without such a layer."""
    encoder = f"{getattr(model, 'base_model_prefix', '')}."
    return {
        name: module
        for name, module in model.named_modules()
        if not name.startswith(encoder)
        and isinstance(module, nn.Linear)
        and module.out_features == model.config.num_labels
    }


class HeadInput:
    """While active, records what the layer that gives the logits reads. `width`: the size of these states; None for a model without such a
    layer."""

    def __init__(self, model: Any) -> None:
        found = list(logits_layers(model).values())
        self.head: nn.Linear | None = found[-1] if found else None
        self.width = None if self.head is None else self.head.in_features

    def __enter__(self) -> HeadInput:
        self._seen: list[Tensor] = []
        if self.head is not None:
            self._hook = self.head.register_forward_pre_hook(lambda _, inputs: self._seen.append(inputs[0]))
        return self

    def __exit__(self, *_: object) -> None:
        if self.head is not None:
            self._hook.remove()

    def states(self, logits: Tensor) -> Tensor:
        """The states of the last batch, [B, d] float32. They are forgotten then. logits: its logits, [B, C].

        A decoder computes logits at every token, and answers with those at one token: its state is the one that gives these logits.
        """
        assert self.head is not None
        assert self.width is not None
        seen = self._seen.pop()
        if seen.dim() == 3:
            place = (self.head(seen) - logits.unsqueeze(1)).abs().amax(-1).argmin(1)
            seen = seen.gather(1, place[:, None, None].expand(-1, 1, self.width)).squeeze(1)
        return seen.float()
