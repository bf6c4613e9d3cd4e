"""A whole run with teachers and a student of BERT-base's size on a GPU: how many texts a second, and which share of the GPU's rate of matrix products."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Needs
from alloykit.models.batches import token_batches
from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.location import bundled_minilm
from alloykit.models.tokens import Encodings, encode, pad
from alloykit.precision import choose_precision
from alloykit.progress import log_line, set_quiet
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from alloykit.training.steps import StepProbe
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec, TrainingOptions
from benchmarks.harness.data import read
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed.measure import Measurement, device, encoder_flops, in_turns, matmul_rate

TEXTS, LENGTH, PASSES, ROUNDS = (4096 if device() == "cuda" else 16), 128, 16, 3
BATCHES = (32, 256)
GROUPS = AG_NEWS.split(2)
SPACE = LabelSpace.union(GROUPS, teacher_names=["1", "2"])


def run(data: Path, work: Path) -> dict[str, Any]:
    folder = work / "base_size"
    teachers = [_teacher(folder / f"teacher{i}", labels) for i, labels in enumerate(GROUPS)]
    texts = list(read(data / AG_NEWS.name / "train.parquet")[:TEXTS]["text"])
    tokenizer = AutoTokenizer.from_pretrained(teachers[0])
    encodings = encode(tokenizer, texts, None, LENGTH)
    config = BertConfig.from_pretrained(teachers[0])
    once = sum(encoder_flops(config, 1, len(e["input_ids"])) for e in encodings)  # of one forward pass over all texts
    precision = choose_precision("auto", device())
    rate = matmul_rate(precision)
    bare = _bare(teachers[0], encodings, tokenizer)
    log_line(f"{rate / 1e12:.0f} TFLOP/s; by themselves: {bare}")
    whole = {}
    for batch in BATCHES:
        parts = _run(data, folder, teachers, batch).metrics["seconds"]
        whole[batch] = {"sweep": sum(parts["sweep"].values()), "training": parts["training"]}
        log_line(f"batches of {batch}: {whole[batch]}")
    flops = {"plain pass": once, "sweep": 2 * (1 + PASSES) * once, "training": 3 * once}
    seconds = {"plain pass": bare["plain pass"], "sweep": whole[BATCHES[0]]["sweep"]}
    reads = {"plain pass": 1, "sweep": 2 * (1 + PASSES)}
    work_done = {name: _speed(flops[name], reads[name] * len(texts), seconds[name], rate) for name in seconds}
    for batch in BATCHES:
        steps = f"training steps, batches of {batch}"
        work_done[steps] = _speed(flops["training"], len(texts), bare[steps], rate)
        work_done[f"training, batches of {batch}"] = _speed(
            flops["training"], len(texts), whole[batch]["training"], rate
        )
    return {
        "model": "BERT-base's shape: 12 layers of width 768, 110 M parameters, random weights",
        "texts": len(texts),
        "tokens": round(sum(len(e["input_ids"]) for e in encodings) / len(texts), 1),
        "length": LENGTH,
        "passes": PASSES,
        "precision": precision,
        "matmul_tflops": round(rate / 1e12, 3),
        "work": work_done,
        "runs": {str(batch): found for batch, found in whole.items()},
        "peak_gpu_gb": round(torch.cuda.max_memory_allocated() / 1e9, 1) if device() == "cuda" else None,
    }


def _speed(flops: float, reads: int, seconds: float, rate: float) -> dict[str, float]:
    """`share`: of the rate of large matrix products. The FLOPs are those of the texts' own tokens: padding counts as waste."""
    return {
        "seconds": round(seconds, 2),
        "reads_per_second": round(reads / seconds, 1),
        "share": round(flops / seconds / rate, 4),
    }


def _teacher(folder: Path, labels: list[str]) -> Path:
    """Random weights: how fast a model computes does not depend on their values."""
    if not (folder / "config.json").exists():
        torch.manual_seed(0)
        config = BertConfig(
            num_labels=len(labels), id2label=dict(enumerate(labels)), label2id={x: i for i, x in enumerate(labels)}
        )
        AutoTokenizer.from_pretrained(bundled_minilm()).save_pretrained(folder)
        BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def _run(data: Path, folder: Path, teachers: list[Path], batch: int) -> RunFolder:
    """From nothing to the written report: one epoch, and MUKA's passes."""
    values = {
        "teachers": [str(t) for t in teachers],
        "texts": {"path": str(data / AG_NEWS.name / "train.parquet"), "limit": TEXTS},
        "student": {"model": str(teachers[0])},
        "method": {"name": "muka", "passes": PASSES},
        "training": {"epochs": 1, "learning_rate": 2e-5, "batch_size": batch, "max_length": LENGTH, "select": "last", "held_out": 0.0},
        "output": str(folder / f"run-{batch}"),
    }  # fmt: skip
    shutil.rmtree(folder / f"run-{batch}", ignore_errors=True)
    set_quiet(True)
    done = run_recipe(parse(values, Recipe))
    set_quiet(False)
    return done


def _bare(teacher: Path, encodings: Encodings, tokenizer: Any) -> dict[str, float]:
    """Seconds of the models alone, on texts that are tokens already: a plain pass over all, and the steps of one epoch, in batches of similar length."""
    lengths = [len(e["input_ids"]) for e in encodings]
    model, _ = build_student(StudentSpec(model=str(teacher)), SPACE, 0)
    reader = in_compute_format(
        BertForSequenceClassification.from_pretrained(teacher).eval().to(device()),
        ComputeFormat(choose_precision("auto", device())),
    )
    plan, lean = token_batches(lengths, 65_536), LeanLastLayer(reader)
    ready = [{k: v.to(device()) for k, v in pad(tokenizer, [encodings[i] for i in rows]).items()} for rows in plan]

    @torch.inference_mode()
    def plain() -> None:
        for batch in ready:
            with lean:
                reader(**batch)

    by_length = sorted(range(len(encodings)), key=lengths.__getitem__)

    def steps(batch: int) -> None:
        probe = StepProbe(model, tokenizer, TrainingOptions(batch_size=batch), Needs(), device())
        for start in range(0, len(by_length), batch):
            probe.step([encodings[i] for i in by_length[start : start + batch]])

    found = {"plain pass": min(in_turns({"plain": plain}, ROUNDS)["plain"])}
    for batch in BATCHES:
        found[f"training steps, batches of {batch}"] = min(in_turns({"steps": lambda n=batch: steps(n)}, 1)["steps"])
    return found


TABLE = Measurement(
    "base_size",
    "a run with models of BERT-base's size, and the share of the GPU's matrix products that it reaches",
    run,
)
