"""Settings of the larger generator, SmolLM2-135M-Instruct (`python -m benchmarks.models smollm2 models/smollm2`)."""

from __future__ import annotations

from typing import Any

GENERATION: dict[str, Any] = {
    "language_model": "models/smollm2",
    "precision": "bfloat16",
    "candidates": 64,
    "candidates_top_p": 0.9,
    "top_k": 0,
    "top_p": 0.9,
    "every": 4,
    "min_tokens": 12,
    "max_tokens": 40,  # as the small generator's: students read 32 tokens
    "batch_size": 50,
}
WAYS: dict[str, str] = {  # `steer:` → the page's name for it
    "none": "not steered",
    "teacher": "steered",
    "prompt": "prompted",
    "both": "prompted and steered",
}


def asked(way: str, prompt: str, strength: float) -> dict[str, Any]:
    """The `generation:` options of a way to write."""
    more: dict[str, Any] = {"prompt": prompt} if way in ("prompt", "both") else {}
    return GENERATION | {"steer": way} | more | ({"strength": strength} if way in ("teacher", "both") else {})
