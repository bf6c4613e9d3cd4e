"""benchmarks/results/encoders.md: size and accuracy of the encoders trained here."""

from __future__ import annotations

import json

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows


def write() -> None:
    lines = [
        "# Encoders trained here",
        "",
        "No package contains a Chinese encoder, a multilingual one, or one with a byte-level BPE vocabulary. So small ones are trained "
        "here: word vectors from counts, then a short training as masked language model (`benchmarks/encoders/train.py`). "
        "They read training texts only.",
        "",
        "The last column is the accuracy on test texts after fine-tuning with all labels (seed 0), on as many texts as a table's teachers learn from. "
        "So it is about what a supervised student of the tables can reach. The learning rate was the best one on other training texts.",
        "",
    ]
    body, commands = [], []
    for path in sorted((RESULTS / "encoders").glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        plan, trained = found["plan"], found["trained"]
        kind = "RoBERTa, byte-level BPE" if plan["bpe"] else "BERT, WordPiece"
        texts = "; ".join(f"{name}{f' ({n:,})' if n else ''}" for name, n in plan["texts"].items())
        accuracy = "; ".join(
            f"{SETS[s].title} {100 * p['accuracy']:.1f} % (rate {p['rate']:g})" for s, p in found["probes"].items()
        )
        body.append([
            plan["name"], f"{kind}, {plan['layers']} × {plan['width']}", f"{trained['parameters'] / 1e6:.1f} M",
            f"{trained['vocabulary']:,}", texts, f"{plan['epochs']} × {trained['tokens_per_epoch'] / 1e6:.2f} M",
            f"{trained['held_out_loss']:.2f}", accuracy,
        ])  # fmt: skip
        machine = trained["machine"]
        commands.append(
            f"- `{found['command']}`: {trained['seconds']} s, commit {trained['commit']}; {machine['processor']}, "
            f"{machine['threads']} thread(s), GPU: {machine['gpu'] or 'none'}, torch {machine['torch']}."
        )
    headings = [
        "",
        "model",
        "parameters",
        "vocabulary",
        "texts",
        "epochs × tokens",
        "held-out loss, nats",
        "fine-tuned accuracy",
    ]
    write_atomic(RESULTS / "encoders.md", "\n".join([*lines, *rows(headings, body), *commands]).rstrip() + "\n")
