"""A program of its own: `python -m benchmarks.speed.training_steps alloykit 8` prints the training steps per second, measured for 8 seconds.

The first argument says how threads wait for each other: `alloykit`, as with the command line, or `default`, as torch's OpenMP does.
"""

from __future__ import annotations

import sys
import time

BATCH, LENGTH, LAYERS, WIDTH, VOCABULARY, UNCOUNTED = 32, 24, 3, 384, 8000, 3


def steps_per_second(seconds: float) -> float:
    """Of a random BERT as wide as MiniLM, on all cores."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=12,
        intermediate_size=4 * WIDTH,
    )
    model = BertForSequenceClassification(config)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    ids, labels = torch.randint(0, VOCABULARY, (BATCH, LENGTH)), torch.randint(0, 2, (BATCH,))
    begun, steps = time.perf_counter(), -UNCOUNTED
    while steps <= 0 or time.perf_counter() - begun < seconds:
        model(input_ids=ids, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
        if steps == 0:
            begun = time.perf_counter()
    return steps / (time.perf_counter() - begun)


if __name__ == "__main__":
    if sys.argv[1] == "alloykit":
        from alloykit.cli.main import set_environment

        set_environment()  # before torch is imported
    print(steps_per_second(float(sys.argv[2])))
