"""The bundled encoder without the word pieces that some texts do not have: the same answers from fewer parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from filelock import FileLock
from torch import nn
from transformers import AutoModel, AutoTokenizer

from alloykit.models.location import bundled_minilm

FIRST = 104  # [PAD], [UNK], [CLS], [SEP], [MASK] and unused pieces keep their numbers


def trimmed(texts: Callable[[], Iterable[str]], folder: Path, tokens: int | None = None) -> Path:
    """Write bundled:minilm with only the pieces of these texts, and return its folder; a finished one is not written again.

    A piece that no text has gets no gradient and changes no answer, and WordPiece (longest match first) cuts these texts as
    before. A step is faster, because AdamW goes through every row of the table of embeddings each time. `tokens`: models read at
    most this number of tokens of each text.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):  # other processes may need it too
        if not (folder / "config.json").exists():
            _write(texts(), folder, tokens)
    return folder


def _write(texts: Iterable[str], folder: Path, tokens: int | None) -> None:
    tokenizer = AutoTokenizer.from_pretrained(bundled_minilm())
    read = tokenizer(list(texts), truncation=tokens is not None, max_length=tokens).input_ids
    kept = sorted({i for ids in read for i in ids} | set(range(FIRST)))
    model = AutoModel.from_pretrained(bundled_minilm(), dtype=torch.float32)
    table = model.get_input_embeddings().weight.data[kept].clone()
    model.set_input_embeddings(nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0))
    model.config.vocab_size = len(kept)
    plain = AutoTokenizer.from_pretrained(bundled_minilm())  # truncation would be saved with the tokenizer
    plain.save_pretrained(folder)
    numbers = {old: new for new, old in enumerate(kept)}
    path = folder / "tokenizer.json"
    about = json.loads(path.read_text(encoding="utf-8"))
    about["model"]["vocab"] = {p: numbers[i] for p, i in about["model"]["vocab"].items() if i in numbers}
    path.write_text(json.dumps(about), encoding="utf-8")
    model.save_pretrained(folder)  # config.json, which says that the folder is finished, is written with it
