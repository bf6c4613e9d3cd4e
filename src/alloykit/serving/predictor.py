"""Probabilities of a classifier over texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.batches import token_batches
from alloykit.models.tokens import encode, pad, usable_length
from alloykit.progress import bar
from alloykit.teachers.last_layer import LeanLastLayer
from alloykit.teachers.teacher import check_weights, load_classifier, load_or_explain, load_tokenizer


class Predictor:
    """A saved classifier that reads texts. AlloyError if the folder holds none."""

    def __init__(self, model: Any, tokenizer: Any, max_length: int = 128) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.lean = LeanLastLayer(model)
        self.max_length = usable_length(model, tokenizer, max_length)
        self.labels = tuple(str(model.config.id2label[i]) for i in range(model.config.num_labels))

    @classmethod
    def load(cls, folder: Path, max_length: int = 128, device: str = "cpu") -> Predictor:
        from transformers import AutoConfig

        if not (folder / "config.json").exists():
            raise AlloyError(
                expected="a run folder with a student, or a model folder",
                got=f"'{folder}'" + ("" if folder.exists() else ", which does not exist"),
                hint="Finish the run with `alloykit amalgamate`, or name the folder that holds config.json.",
            )
        check_weights(str(folder), str(folder))
        common = {"trust_remote_code": False}
        config = load_or_explain(lambda: AutoConfig.from_pretrained(folder, **common), str(folder))
        model = load_classifier(str(folder), config, str(folder), common)
        return cls(model.to(device), load_tokenizer(str(folder), str(folder), {}), max_length)

    @torch.inference_mode()
    def probabilities(
        self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, what: str = "student"
    ) -> Tensor:
        """softmax(s(x)), [n, C] float32 on the CPU, in the order of the texts."""
        encoded = encode(self.tokenizer, texts, pairs, self.max_length)
        out = torch.empty(len(texts), len(self.labels))
        with bar(what, len(texts)) as advance:
            for rows in token_batches([len(e["input_ids"]) for e in encoded], 8192):
                batch = pad(self.tokenizer, [encoded[i] for i in rows])
                with self.lean:
                    logits = self.model(**{k: v.to(self.model.device) for k, v in batch.items()}).logits
                out[rows] = logits.float().softmax(-1).cpu()
                advance(len(rows))
        return out
