"""Measure the sizes of teachers and student, and their speed on this machine."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from alloykit.models.long_texts import encode_long
from alloykit.models.token_states import text_part
from alloykit.models.tokens import pad
from alloykit.progress import bar
from alloykit.serving.predictor import Predictor
from alloykit.stages.prepared import Prepared
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.teachers.hugging_face import HuggingFaceTeacher
from alloykit.teachers.protocol import Reading

TEXTS, BATCH = 32, 16  # texts that each model reads, and texts of a batch
SLOW = 5.0  # if the first round takes so many seconds or more, there is no second one


def model_sizes(prepared: Prepared, student: Predictor) -> dict[str, dict[str, Any]]:
    """Parameters, layers, width and texts per second of each model of transformers, by its name. The student is last.

    The speed is the better of two rounds over the same texts, in batches of similar length, in float32, each model with its own tokenizer.
    A model that needs SLOW seconds or more reads them once.
    """
    at = np.sort(sampled_positions(len(prepared.texts), TEXTS))
    shown = prepared.texts.table.take(at, prepared.texts.text_columns)
    length, device, found = prepared.recipe.training.max_length, prepared.device, {}
    models = [info for info in prepared.infos if info.gives.model] if prepared.method.needs.teachers else []
    reading = Reading(max_length=length, long_texts=prepared.recipe.inference.long_texts, device=device)
    with bar("size and speed", len(models) + 1, "models") as advance:
        for info in models:
            teacher: Any = info.load(reading)
            found[info.name] = size_and_speed(teacher, shown)
            advance(1)
        found["student"] = size_and_speed(student, shown)
        advance(1)
    return found


@torch.inference_mode()
def size_and_speed(reader: HuggingFaceTeacher | Predictor, shown: dict[str, list[Any]]) -> dict[str, Any]:
    """Of one model, while it reads the rows `shown`."""
    model, tokenizer = reader.model, reader.tokenizer
    found = encode_long(tokenizer, shown["text"], shown.get("text_pair"), reader.max_length, reader.long_texts)
    encodings = sorted(found, key=lambda e: len(e["input_ids"]))
    batches = [pad(tokenizer, encodings[i : i + BATCH]) for i in range(0, len(encodings), BATCH)]

    # Not `forward_texts`: its check of the ids and a smaller batch after a lack of memory would be a part of the time.
    def read() -> float:
        begun = time.perf_counter()
        for batch in batches:
            model(**{k: v.to(model.device) for k, v in batch.items()}).logits.cpu()
        return time.perf_counter() - begun

    seconds = read()
    if seconds < SLOW:  # else the first round's own costs, such as a GPU's start, are a small part of it
        seconds = min(seconds, read())
    part = text_part(model.config)
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "layers": getattr(part, "num_hidden_layers", None),
        "width": getattr(part, "hidden_size", None),
        "texts_per_second": round(len(shown["text"]) / seconds, 4),
    }
