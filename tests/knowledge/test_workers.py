"""Workers of a DataLoader that share nothing with this process read the same texts, tokens and outputs."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from knowing import SENTENCES, ids, swept, table
from torch.utils.data import DataLoader

from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.models.tokens import usable_length
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.protocol import Reading
from alloykit.training.co_finetuning import CoFinetuningCollator
from alloykit.training.dataset import tokenize

pytestmark = pytest.mark.slow


def test_workers_read_what_this_process_reads(
    billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path: Path
) -> None:
    store = swept(tmp_path, [billing, delivery])
    source = StoredKnowledge(store, ["billing", "delivery"], ids(SENTENCES), passes=4)
    source.rows([0])  # the file is written here, once, and sent by its path
    texts, teacher = table(SENTENCES), billing.load(Reading(max_length=32))
    length = usable_length(teacher.model, teacher.tokenizer, 32)
    tokens = tokenize(texts, teacher.tokenizer, length)
    collator = CoFinetuningCollator([teacher.tokenizer] * 2, [length] * 2, texts, source)  # the second reads the texts
    loader: Any = partial(DataLoader, tokens, batch_size=16, collate_fn=collator)
    here = list(loader())
    there = list(loader(num_workers=1, multiprocessing_context="spawn"))
    assert len(there) == 3
    for mine, theirs in zip(here, there, strict=True):
        same(mine, theirs)


def same(mine: Any, theirs: Any) -> None:
    """Equal tensors in the same places."""
    assert type(mine) is type(theirs)
    if isinstance(mine, torch.Tensor):
        assert torch.equal(mine, theirs)
    elif isinstance(mine, dict) or hasattr(mine, "keys"):
        assert mine.keys() == theirs.keys()
        for key in mine:
            same(mine[key], theirs[key])
    elif isinstance(mine, list | tuple):
        for one, other in zip(mine, theirs, strict=True):
            same(one, other)
    else:
        assert mine == theirs
