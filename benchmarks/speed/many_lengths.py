"""Memory of training with batches of many lengths: `python -m benchmarks.speed.many_lengths FOLDER` prints it as JSON.

MiniLM with six layers in bfloat16, English words as texts. A process of its own: oneDNN reads its limit once, and the peak is that of this training.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from alloykit import teach
from benchmarks.speed.peak import peak

WORDS = ["time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school", "state", "family", "student", "group", "country", "problem", "hand", "part"]  # fmt: skip
STEPS, BATCH, LONGEST = 120, 64, 128


def main(folder: Path) -> None:
    rng = random.Random(0)
    rows = [
        {"text": " ".join(rng.choices(WORDS, k=rng.randint(8, LONGEST - 2))), "label": rng.choice("ab")}
        for _ in range(STEPS * BATCH)
    ]
    training = {"epochs": 1, "learning_rate": 1e-4, "batch_size": BATCH, "max_length": LONGEST, "precision": "bfloat16"}
    begun = time.process_time()
    teach("bundled:minilm", rows, output=folder, training=training | {"select": "last", "held_out": 0}, device="cpu")
    print(json.dumps({"peak_mb": round(peak()), "cpu_seconds": round(time.process_time() - begun, 1)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
