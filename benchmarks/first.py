"""AG News, two MiniLM teachers of two labels each: teachers, ensemble, routing, Vanilla KD and MUKA-Soft, one seed.

The configuration below was committed before the run. Teachers choose their learning rate on labelled validation texts of
their own labels; the student takes the rate that most teachers chose. Nothing is chosen on the test file.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import datasets

from alloykit.files import write_atomic, write_json
from alloykit.jobs.amalgamate import run_recipe
from alloykit.jobs.run import environment
from alloykit.jobs.teach import teach
from alloykit.recipe import Recipe, TeachRecipe, parse

NAMES = ["World", "Sports", "Business", "Sci/Tech"]
GROUPS = {"world-sports": ["World", "Sports"], "business-scitech": ["Business", "Sci/Tech"]}
POOL = 2400  # texts: the teachers' own training texts, labels forgotten (the paper's setting)
SEED = 0
ENCODER = {"model": "bundled:minilm", "layers": 3, "keep": "even"}
LENGTH = 48
RATES = [1e-4, 3e-4]
TEACHER = {"epochs": 4, "batch_size": 32, "max_length": LENGTH, "seed": SEED}
STUDENT = {"epochs": 4, "batch_size": 32, "max_length": LENGTH, "seed": SEED}
METHODS: list[dict[str, Any]] = [{"name": "muka", "mode": "soft", "passes": 16}, {"name": "vanilla_kd"}]
COMMAND = "python -m benchmarks first"


def commit() -> str:
    """The commit that the code of this run stands at."""
    return subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()


def run(data: Path, work: Path) -> None:
    began_at = commit()
    folder = data / "ag_news"
    block = {"label": "label", "label_names": NAMES}
    pool_file = sample(folder / "train.parquet", work / "pool.parquet")
    validation = {"data": {"path": str(folder / "validation.parquet"), **block}}
    teachers, chosen = [], []
    for group, labels in GROUPS.items():
        tried = {}
        for rate in RATES:
            recipe = {
                "model": ENCODER, "data": {"path": str(pool_file), **block}, "labels": labels, "validation": validation,
                "training": {**TEACHER, "learning_rate": rate}, "output": str(work / "teachers" / f"{group}-{rate}"),
            }  # fmt: skip
            made = teach(parse(recipe, TeachRecipe))
            tried[rate] = json.loads((made / "metrics.json").read_text())["held_out_accuracy"]
        best = max(tried, key=lambda rate: tried[rate])
        chosen.append(best)
        teachers.append({"name": group, "labels": labels, "accuracy_on_own_validation": tried, "learning_rate": best})
    rate = Counter(chosen).most_common(1)[0][0]
    results = {}
    for method in METHODS:
        recipe = {
            "teachers": [
                {"model": str(work / "teachers" / f"{t['name']}-{t['learning_rate']}"), "name": t["name"]}
                for t in teachers
            ],
            "texts": {"path": str(pool_file)},
            "student": ENCODER,
            "method": method,
            "training": {**STUDENT, "learning_rate": rate},
            "evaluate": {"data": {"path": str(folder / "test.parquet"), **block}},
            "output": str(work / "runs" / method["name"]),
        }
        finished = run_recipe(parse(recipe, Recipe), knowledge=work / "knowledge")
        results[method["name"]] = finished.metrics
    found = {
        "command": COMMAND,
        "commit": began_at, "seed": SEED, "pool": POOL, "test_texts": results["muka"]["evaluation"]["texts"],
        "student_learning_rate": rate, "teachers": teachers, "environment": environment(),
        "scores": results["muka"]["evaluation"]["scores"] | {
            "student (vanilla_kd)": results["vanilla_kd"]["evaluation"]["scores"]["student"]
        },
        "supervision": results["muka"]["supervision"],
    }  # fmt: skip
    here = Path(__file__).parent / "results"
    write_json(here / "first.json", found)
    write_atomic(here / "first.md", page(found))


def sample(source: Path, target: Path) -> Path:
    """A seeded sample of the training file, written once."""
    if not target.exists():
        table = datasets.Dataset.from_parquet(str(source), keep_in_memory=True)
        rows = random.Random(SEED).sample(range(len(table)), POOL)
        target.parent.mkdir(parents=True, exist_ok=True)
        table.select(rows).to_parquet(str(target))
    return target


def page(found: dict[str, Any]) -> str:
    lines = [
        "# AG News, two teachers, one seed",
        "",
        f"`{found['command']}` at commit {found['commit']}. {found['pool']:,} unlabelled texts (the teachers' own training texts), tested on "
        f"{found['test_texts']:,} texts (60 % of the official test file). Encoder: {ENCODER['layers']} evenly spaced layers of "
        f"MiniLM, {LENGTH} tokens, K = 16. Seed {found['seed']}: one run says nothing of the spread.",
        "",
        "Teachers, on validation texts of their own labels:",
        "",
        *(
            f"- {t['name']}: {', '.join(f'{a:.3f} at rate {r}' for r, a in t['accuracy_on_own_validation'].items())}"
            for t in found["teachers"]
        ),
        "",
        "| | accuracy | macro-F1 | texts of " + " | texts of ".join(GROUPS) + " | right teacher |",
        "|---|---|---|---|---|---|",
    ]
    for name, s in found["scores"].items():
        cells = [s["accuracy"], s["macro_f1"], *s["groups"].values(), s.get("right_teacher")]
        name = "student (muka soft)" if name == "student" else name
        lines.append(f"| {name} | " + " | ".join("–" if c is None else f"{100 * c:.1f}" for c in cells) + " |")
    return "\n".join(lines) + "\n"
