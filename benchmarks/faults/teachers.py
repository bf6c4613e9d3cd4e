"""Recipes with teachers of other kinds, labelled texts and the other newer keys: values, keys, YAML and bytes damaged."""

from __future__ import annotations

from typing import Any

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import spoil_bytes, spoil_value
from benchmarks.faults.others import RECIPES, put_others, recipe
from benchmarks.faults.recipes import as_yaml, odd_values, takes_long, with_key, with_piece
from benchmarks.faults.steps import step

COMMANDS = (
    (["sweep", "recipe.yaml"], 40),
    (["plan", "recipe.yaml", "--no-probe"], 15),
    (["plan", "recipe.yaml"], 10),
    (["doctor", "recipe.yaml", "--no-probe"], 15),
    (["doctor", "recipe.yaml"], 5),
    (["amalgamate", "recipe.yaml"], 15),
)
KEYS: dict[str, Any] = {
    "name": "x", "labels": ["a", "b"], "certainty": 0.9, "label": "label", "confidence": "p", "top": "top", "by": "row", "values": "logits",
    "text": "text", "text_pair": "text_pair", "trusted": ["os.system"], "file": "../x.onnx", "python": "os:system", "url": "http://127.0.0.1:9/",
    "hypothesis": "{}", "names": {"track": ""}, "entailment": "neutral", "version": "2", "key_env": "HOME", "per_second": 1e-9, "samples": 5,
    "template": "{text}{options}", "answer": "[*]", "request": {"a": ["{texts}"]}, "format": "openai", "max_cost": 1, "cost_per_request": 1e-9,
    "long_texts": "mean", "model": "delivery", "in_memory": "x", "zero_shot": "nli", "sklearn": "pipeline.skops", "onnx": "graph",
}  # fmt: skip


def make(case: Case) -> None:
    draw = case.draw
    name = draw.choice(sorted(RECIPES))
    case.stock.fill(case.folder)
    put_others(case.stock, case.folder)
    path, value = case.folder / "recipe.yaml", recipe(name, draw.choice(("alloy", "alloy", "muka", "uhc", "ensemble")))
    path.write_text(as_yaml(value, draw))
    how = draw.choices(("value", "part", "piece", "bytes", "key", "other key"), (30, 30, 18, 4, 8, 10))[0]
    if how in ("value", "part"):
        case.about = _spoilt(case, value, how == "part")
    elif how == "piece":
        case.about = with_piece(case, value)
    elif how == "key":
        case.about = with_key(case, value)
    elif how == "other key":
        case.about = _other_keys(case, value)
    else:
        case.about = spoil_bytes(path, draw)
    argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
    if argv[0] in ("sweep", "amalgamate") and takes_long(path):
        argv = ["plan", "recipe.yaml", "--no-probe"]
    case.about = f"{' '.join(argv)}, {name}: {case.about}"
    case.run(step(case.folder, *argv), network=True)


def _spoilt(case: Case, value: dict[str, Any], part: bool) -> str:
    """Spoil any value; `part`: one of the newer blocks."""
    draw = case.draw
    if not part:
        value, about = spoil_value(value, draw, odd_values(draw))
    else:
        place: Any = draw.choice(
            [key for key in ("labelled", "labels", "inference") if key in value] + ["teachers"] * 3
        )
        if place == "teachers":
            at = draw.randrange(1, len(value["teachers"]))
            value["teachers"] = list(value["teachers"])
            value["teachers"][at], about = spoil_value(value["teachers"][at], draw, odd_values(draw))
        else:
            value[place], about = spoil_value(value[place], draw, odd_values(draw))
        about = f"{place}: {about}"
    (case.folder / "recipe.yaml").write_text(as_yaml(value, draw), "utf-8", "surrogatepass")
    return about


def _other_keys(case: Case, value: dict[str, Any]) -> str:
    """Keys of one kind of teacher in the entry of another one."""
    draw = case.draw
    keys = draw.sample(sorted(KEYS), draw.choice((1, 1, 2, 4)))
    entry = value["teachers"][-1]
    entry = (dict(entry) if isinstance(entry, dict) else {"model": entry}) | {key: KEYS[key] for key in keys}
    value["teachers"] = [*value["teachers"][:-1], entry]
    (case.folder / "recipe.yaml").write_text(as_yaml(value, draw), "utf-8", "surrogatepass")
    return f"a teacher also has {', '.join(keys)}"


TABLE = Kind("teachers", "Recipes with teachers of other kinds, their values, keys, YAML and bytes damaged", 500, make)
