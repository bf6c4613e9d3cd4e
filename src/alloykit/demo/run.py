"""`alloykit demo`: the whole story on the embedded messages, told as it happens."""

from __future__ import annotations

import csv
import io
import random
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from rich.markup import escape

from alloykit.data import load_texts
from alloykit.escape import visible
from alloykit.evaluation.score_table import score_table
from alloykit.files import write_atomic
from alloykit.models.location import BUNDLED
from alloykit.recipe.models import Recipe, TeachRecipe, parse
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.output_folder import check_output
from alloykit.stages.run import Run
from alloykit.stages.teach_recipes import teach_recipe
from alloykit.terminal import show

TEAMS = ("billing", "delivery", "account")
MAX_LENGTH = 48
STUDENT = {"model": BUNDLED, "layers": 4, "keep": "even"}
TEACHER_TRAINING = {"epochs": 5, "learning_rate": 3e-4, "batch_size": 32, "max_length": MAX_LENGTH, "held_out": 0.1}
STUDENT_TRAINING = {"epochs": 5, "learning_rate": 3e-4, "batch_size": 32, "max_length": MAX_LENGTH}
QUESTIONS = (
    "you took 40 quid from my card, then took it again an hour later",
    "the vase came in about a hundred pieces",
    "it keeps closing itself whenever I open the basket",
)


def demo(output: Path) -> Run:
    """Fine-tune three teams' teachers, forget the labels, melt the teachers into one student, and test it."""
    begun = time.perf_counter()
    check_output(output)
    train, test = messages("train"), messages("test")
    labels = {team: list(dict.fromkeys(m["label"] for m in train if m["team"] == team)) for team in TEAMS}
    tell(
        f"\n[bold]1. Three teams, three classifiers.[/] A shop's three teams have each fine-tuned a classifier of customer\n"
        f"messages, but only for their own topics: {', '.join(f'{t} knows {len(labels[t])}' for t in TEAMS)}.\n"
        "Nobody has one model that knows all twelve, and shown a foreign message each of them is wrong."
    )
    output.mkdir(parents=True, exist_ok=True)
    for team in TEAMS:
        teach_team(team, train, labels[team], output)
    texts_file = output / "data" / "messages.csv"
    write_csv(texts_file, [{"text": m["text"]} for m in shuffled(train)])
    test_file = output / "data" / "test.csv"
    write_csv(test_file, [{"text": m["text"], "label": m["label"]} for m in test])
    recipe = parse(recipe_values(output, texts_file, test_file), Recipe)
    tell(
        f"\n[bold]2. The labels are forgotten.[/] What is left: three model folders and {len(train):,} messages without labels.\n"
        "Shown a foreign message, a teacher answers all the same, and often it is sure: whoever is loudest would win. So every\n"
        "teacher reads every message once, and what its early layers see in it is kept beside its answer. There, messages about\n"
        "the same thing lie together, and whose they are shows: a message among billing's is billing's to answer.\n"
    )
    run = Run(run_recipe(recipe))
    metrics = run.metrics
    assert metrics is not None
    result = metrics["evaluation"]
    tell("\n[bold]3. One student.[/] Tested on messages that other people wrote, with their true labels:\n")
    show(score_table(result))
    tell(explanation(result["scores"]))
    tell("\n[bold]4. Try it.[/]\n")
    for question, answer in zip(QUESTIONS, run.predict(QUESTIONS), strict=True):
        tell(f'  "{question}"\n      → [bold]{safe(answer["label"])}[/] ({answer["probability"]:.0%})')
    write_atomic(
        output / "demo-recipe.yaml", yaml.safe_dump(recipe_values(output, texts_file, test_file), sort_keys=False)
    )
    tell(
        f"\n[bold]5. Can it be trusted?[/] One page says so, in words and pictures: open [bold]{safe(run.report_page)}[/]"
    )
    tell(
        f"\nThe student is a plain Hugging Face model in {safe(run.student)}. The recipe that made it is {safe(output / 'demo-recipe.yaml')};\n"
        f"it runs again with: alloykit amalgamate {safe(output / 'demo-recipe.yaml')}\n"
        f"[dim]{time.perf_counter() - begun:.0f} seconds in all.[/]"
    )
    return run


def tell(text: str) -> None:
    """Print words with rich's markup in them."""
    show(text, soft_wrap=True)


def safe(foreign: object) -> str:
    """A path or a label among such words."""
    return escape(visible(foreign))


def messages(part: str) -> list[dict[str, str]]:
    """The embedded messages of one part, `train` or `test`, as {text, label, team}."""
    text = files("alloykit.demo").joinpath(f"messages_{part}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(keepends=True)))


def shuffled(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same order every time, and no longer grouped by label."""
    return random.Random(0).sample(rows, len(rows))


def teach_team(team: str, train: list[dict[str, str]], labels: list[str], output: Path) -> Path:
    folder = output / "teachers" / team
    recipe = parse(
        {
            "model": BUNDLED,
            "data": {"path": "embedded messages", "label": "label"},
            "labels": labels,
            "training": TEACHER_TRAINING,
            "output": str(folder),
        },
        TeachRecipe,
    )
    mine = [{"text": m["text"], "label": m["label"]} for m in shuffled(train) if m["team"] == team]
    return teach_recipe(recipe, data=load_texts(mine, want_labels=True))


def recipe_values(output: Path, texts: Path, test: Path) -> dict[str, Any]:
    return {
        "teachers": [str(output / "teachers" / team) for team in TEAMS],
        "texts": str(texts),
        "student": STUDENT,
        "method": "alloy",
        "training": STUDENT_TRAINING,
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "report": {"show_texts": True},
        "output": str(output / "run"),
    }


def explanation(scores: Mapping[str, Any]) -> str:
    """The table in words."""
    best = max((n for n in scores if n.startswith("teacher ")), key=lambda n: scores[n]["accuracy"])
    student, ensemble, routing = (scores[n]["accuracy"] for n in ("student", "ensemble", "routing"))
    gain = 100 * (student - ensemble)
    return (
        f"\nThe best single {best} names {scores[best]['accuracy']:.1%} of all messages: it cannot name what it never learned.\n"
        f"Asking all three and taking the highest score (ensemble): {ensemble:.1%}; who is loudest wins, right or not.\n"
        f"Asking the teacher among whose messages it lies (routing): {routing:.1%}.\n"
        f"The student, which saw no label at all: [bold]{student:.1%}[/]. That is {abs(gain):.1f} points "
        f"{'more' if gain >= 0 else 'less'} than the ensemble, and one model\nof four layers is asked instead of three of six."
    )


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path, text.getvalue())
