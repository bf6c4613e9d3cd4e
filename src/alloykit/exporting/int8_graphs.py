"""Candidates for the int8 graph of a student, from the fastest to the most exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from alloykit.exporting.compared_answers import compared_answers
from alloykit.exporting.int8_graph import calibrated_forms, int8_graph, products_of
from alloykit.exporting.opened_graph import opened_graph
from alloykit.models.batches import token_batches
from alloykit.models.long_texts import encode_long
from alloykit.models.tokens import pad
from alloykit.progress import hushed, log_line
from alloykit.serving.predictor import Predictor

KEPT_IN_FLOAT = (0.125, 0.25, 0.5, 0.75)
"""Shares of the tensors whose products stay in float32."""
CALIBRATED_SAME = 0.995
"""The first candidate gives the student's label on this share of the calibration texts. Agreement is a little higher there than on other texts."""
RANKED = 128  # texts with which the tensors are ranked
TOKENS = 2048  # tokens per batch


def int8_graphs(
    graph: bytes, predictor: Predictor, texts: Sequence[str], pairs: Sequence[str | None] | None
) -> Iterator[tuple[bytes, int]]:
    """int8 graphs, and the number of tensors whose products they leave in float32; each has more of them than the one before.

    graph: the student's float32 graph. texts, pairs: the calibration texts. The products whose quantisation alone changes the
    probabilities most stay in float32 first. Candidates that differ too much on the calibration texts are left out, except for the last.
    """
    encodings = encode_long(predictor.tokenizer, texts, pairs, predictor.max_length, predictor.long_texts)
    batches = [
        {key: value.numpy() for key, value in pad(predictor.tokenizer, [encodings[i] for i in rows]).items()}
        for rows in token_batches([len(e["input_ids"]) for e in encodings], TOKENS, one_length=predictor.one_length)
    ]
    products = products_of(graph)
    log_line(f"int8: calibrating {len(products)} tensors on {len(texts):,} texts")
    forms = calibrated_forms(graph, products, batches)
    wanted = predictor.probabilities(texts, pairs, name="PyTorch, calibration texts")

    def found(some: dict[str, object], few: int) -> Tensor:
        student = opened_graph(int8_graph(graph, products, {name: forms[name] for name in some}), predictor)
        return student.probabilities(texts[:few], pairs and pairs[:few], name="int8, calibration texts")

    with hushed():
        error = {name: float((found({name: None}, RANKED) - wanted[:RANKED]).abs().mean()) for name in forms}
    worst = sorted(error, key=lambda name: -error[name])
    passed = False
    for share in KEPT_IN_FLOAT:
        kept = round(share * len(worst))
        chosen = dict.fromkeys(worst[kept:])
        passed = (
            passed
            or compared_answers(wanted, found(chosen, len(texts)), predictor.parts)["same_label"] >= CALIBRATED_SAME
        )
        if passed or share == KEPT_IN_FLOAT[-1]:
            yield int8_graph(graph, products, {name: forms[name] for name in chosen}), kept
