"""Peak resident memory of a whole amalgamation: `python -m benchmarks.speed.bounded TEXTS FOLDER` prints it as JSON.

Two tiny random teachers, synthetic short texts, Monte-Carlo passes and one epoch of training: a process of its own, so that
its peak is that of this run and nothing else.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.stages.amalgamation import run_recipe
from benchmarks.speed.peak import peak

WORDS = [f"word{i}" for i in range(500)]


def tiny_classifier(folder: Path, labels: list[str], seed: int) -> Path:
    """A random BERT of one layer, and a tokenizer of whole words."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    backend = Tokenizer(models.WordLevel({t: i for i, t in enumerate([*special, *WORDS])}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.set_seed(seed)
    config = transformers.BertConfig(
        vocab_size=len(special) + len(WORDS), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=32, num_labels=len(labels), id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=32,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def main(texts: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    teachers = [tiny_classifier(folder / f"t{i}", [f"t{i}-{c}" for c in "ab"], i) for i in range(2)]
    rng = random.Random(0)
    with (folder / "texts.txt").open("w") as file:
        for n in range(texts):
            file.write(f"{n} " + " ".join(rng.choices(WORDS, k=rng.randint(3, 8))) + "\n")
    recipe = {
        "teachers": [str(t) for t in teachers],
        "texts": str(folder / "texts.txt"),
        "student": str(teachers[0]),
        "method": {"name": "muka", "passes": 4},
        "training": {"epochs": 1, "learning_rate": 2e-5, "batch_size": 256, "max_length": 32},
        "inference": {"tokens_per_batch": 16384},
        "output": str(folder / "run"),
    }
    found: dict[str, float] = {"texts": texts, "before": peak()}
    begun = time.perf_counter()
    run_recipe(parse(recipe, Recipe))
    print(json.dumps(found | {"peak_mb": peak(), "seconds": round(time.perf_counter() - begun, 1)}))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
