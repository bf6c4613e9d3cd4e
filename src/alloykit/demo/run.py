"""`alloykit demo`: a complete amalgamation with the embedded messages, explained step by step."""

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
from alloykit.finished_runs.run import Run
from alloykit.methods.defaults import AMALGAMATION
from alloykit.models.location import BUNDLED
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.run_folder.output_folder import refuse_others
from alloykit.stages.amalgamation import run_recipe
from alloykit.teaching.teach_recipes import teach_recipe
from alloykit.terminal import echo_rich

TEAMS = ("billing", "delivery", "account")
MAX_LENGTH = 48
STUDENT = {"model": BUNDLED, "layers": 4, "keep": "even"}
TEACHER_TRAINING = {"epochs": 5, "learning_rate": 3e-4, "batch_size": 32, "max_length": MAX_LENGTH, "held_out": 0.1}
STUDENT_TRAINING = {"max_length": MAX_LENGTH}  # the rest is the default
RECIPE_FILE = "demo-recipe.yaml"
QUESTIONS = (
    "you took 40 quid from my card, then took it again an hour later",
    "the vase came in about a hundred pieces",
    "it keeps closing itself whenever I open the basket",
)


def demo(output: Path) -> Run:
    """Fine-tune three teachers, drop the labels, distil the teachers into one student, and test it. AlloyError for an output in use."""
    start = time.perf_counter()
    refuse_others(output, RECIPE_FILE)
    train, test = messages("train"), messages("test")
    labels = {team: list(dict.fromkeys(m["label"] for m in train if m["team"] == team)) for team in TEAMS}
    texts_file, test_file = output / "data" / "messages.csv", output / "data" / "test.csv"
    values = recipe_values(output, texts_file, test_file)
    recipe = parse(values, Recipe)
    output.mkdir(parents=True, exist_ok=True)
    # First, because this file marks the folder as the demo's.
    write_atomic(output / RECIPE_FILE, yaml.safe_dump(values, sort_keys=False))
    print_markup(
        f"\n[bold]1. Three teams, three classifiers.[/] Each of a shop's three teams has fine-tuned a classifier of customer\n"
        f"messages, but only for its own topics: {', '.join(f'{t} knows {len(labels[t])}' for t in TEAMS)}.\n"
        "No model knows all twelve. Each of the three gives a wrong answer to a message of another team."
    )
    for team in TEAMS:
        teach_team(team, train, labels[team], output)
    write_csv(texts_file, [{"text": m["text"]} for m in shuffled(train)])
    write_csv(test_file, [{"text": m["text"], "label": m["label"]} for m in test])
    print_markup(
        f"\n[bold]2. Without labels.[/] From here on there are only three model folders and {len(train):,} messages without labels.\n"
        "A teacher also answers messages of other teams, and is often confident: the highest confidence is not the right answer.\n"
        "So every teacher reads every message once. alloykit keeps its answers and the states of its early layers. In these states\n"
        "messages on the same topic lie close together, which shows which teacher should answer which message.\n"
    )
    run = Run(run_recipe(recipe))
    metrics = run.metrics
    assert metrics is not None
    result = metrics["evaluation"]
    print_markup("\n[bold]3. One student.[/] The test messages are by other writers, and have their true labels:\n")
    echo_rich(score_table(result))
    print_markup(explanation(result["scores"]))
    print_markup("\n[bold]4. Try it.[/]\n")
    for question, answer in zip(QUESTIONS, run.predict(QUESTIONS), strict=True):
        print_markup(
            f'  "{question}"\n      → [bold]{escaped(answer["label"])}[/] ({100 * answer["probability"]:.0f} %)'
        )
    print_markup(f"\n[bold]5. Can it be trusted?[/] The report answers that: open [bold]{escaped(run.report_page)}[/]")
    print_markup(
        f"\nThe student is an ordinary Hugging Face model in {escaped(run.student)}. Its recipe is {escaped(output / RECIPE_FILE)}.\n"
        f"Run it again with: alloykit amalgamate {escaped(output / RECIPE_FILE)}\n"
        f"[dim]{time.perf_counter() - start:.0f} seconds in all.[/]"
    )
    return run


def print_markup(text: str) -> None:
    """Print a text with rich markup."""
    echo_rich(text, soft_wrap=True)


def escaped(foreign: object) -> str:
    """A path or a label inside a text with markup."""
    return escape(visible(foreign))


def messages(part: str) -> list[dict[str, str]]:
    """The embedded messages of one part, `train` or `test`, as {text, label, team}."""
    text = files("alloykit.demo").joinpath(f"messages_{part}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(keepends=True)))


def shuffled(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows in random order, not grouped by label. The order is the same every time."""
    return random.Random(0).sample(rows, len(rows))


def teach_team(team: str, train: list[dict[str, str]], labels: list[str], output: Path) -> Path:
    """Fine-tune one team's teacher. Returns its folder."""
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
    team_messages = [{"text": m["text"], "label": m["label"]} for m in shuffled(train) if m["team"] == team]
    return teach_recipe(recipe, data=load_texts(team_messages, want_labels=True))


def recipe_values(output: Path, texts: Path, test: Path) -> dict[str, Any]:
    """The recipe of the amalgamation."""
    return {
        "teachers": [str(output / "teachers" / team) for team in TEAMS],
        "texts": str(texts),
        "student": STUDENT,
        "method": AMALGAMATION,
        "training": STUDENT_TRAINING,
        "evaluate": {"data": {"path": str(test), "label": "label"}},
        "report": {"show_texts": True},
        "output": str(output / "run"),
    }


def explanation(scores: Mapping[str, Any]) -> str:
    """The table of scores in words."""
    best = max((n for n in scores if n.startswith("teacher ")), key=lambda n: scores[n]["accuracy"])
    student, ensemble, routing = (scores[n]["accuracy"] for n in ("student", "ensemble", "routing"))
    gain = 100 * (student - ensemble)
    return (
        f"\nAccuracy of the best single {best}: {100 * scores[best]['accuracy']:.1f} %. It cannot name labels that it never learned.\n"
        f"Accuracy of the ensemble, which takes the highest score of all three: {100 * ensemble:.1f} %.\n"
        f"Accuracy of the routing, which asks the teacher whose label clusters the message falls into: {100 * routing:.1f} %.\n"
        f"Accuracy of the student, which saw no label: [bold]{100 * student:.1f} %[/]. That is {abs(gain):.1f} points "
        f"{'more' if gain >= 0 else 'less'} than the ensemble, with one\nmodel of four layers in place of three of six."
    )


def write_csv(path: Path, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_atomic(path, text.getvalue())
