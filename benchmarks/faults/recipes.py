"""Recipes: every command that reads one, its values, keys and YAML damaged."""

from __future__ import annotations

import copy
import json
import random
import string
from typing import Any

import yaml

from benchmarks.faults.cases import CANARY, Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import VALUES, paths, spoil_bytes, spoil_place, spoil_value
from benchmarks.faults.steps import step
from benchmarks.faults.stock import SCENARIOS

COMMANDS: dict[str, list[str]] = {
    "alloy": ["plan", "recipe.yaml", "--no-probe"],
    "muka": ["sweep", "recipe.yaml"],
    "muka from generated texts": ["plan", "recipe.yaml", "--no-probe"],
    "alloy from generated texts": ["amalgamate", "recipe.yaml"],
    "distill": ["distill", "recipe.yaml"],
    "generate": ["generate", "recipe.yaml"],
    "teach": ["teach", "recipe.yaml"],
    "teach --together": ["teach", "recipe.yaml", "--together"],
}
LONG_WORK = {
    "epochs",
    "per_class",
    "passes",
    "max_tokens",
    "candidates",
    "attempts",
    "batch_size",
    "accumulate",
    "tokens_per_batch",
    "parallel",
    "retries",
    "backoff",
    "timeout",
}
"""Keys of which a large value is a wish that takes long and not a mistake: 10**30 is refused, 3,000 are made."""

NINES = "&a0 [x,x,x,x,x,x,x,x,x]"
BOMB = "[" + NINES + "".join(f", &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)) + "]"
SHARED_MAPS = (
    "{" + "b0: &b0 {x: 1}" + "".join(f", b{n}: &b{n} {{p: *b{n - 1}, q: *b{n - 1}}}" for n in range(1, 28)) + "}"
)
PIECES = [
    '!!int "x"', '!!float "x"', '!!bool "x"', '!!null "x"', "!!timestamp x", "!!timestamp 2001-13-45", "2001-02-30",
    "2001-12-14t21:59:43.10-99:00", "!!binary x", "!!binary '===='", "!!set {a, b}", "!!omap [a: 1]", "!!omap x", "!!pairs [a]",
    f"!!python/object/apply:os.system ['touch {CANARY}']", "!!python/name:os.system", "!custom x", "!!map [1]", "!!seq {a: 1}",
    "!!str [1]", "*unknown", "&a [*a]", "&a {x: *a}", "{<<: x}", "{<<: [1]}", "{<<: &q {<<: *q}}", '"\\ud800"', '"\\0"',
    '"\\x1b[31m"', '"\\UFFFFFFFF"', '"\\q"', '"', "'", "[", "]", "{", "}", "{a: b: c}", "? [a]", "{? {a: 1} : 2}", "{[1]: 2}",
    "|", ">", "- x", "0x", "0xZZ", "0b12", "0o9", "1_000", "_1", ".inf", "-.inf", ".nan", "190:20:30", "1:2:3:4:5", "=", "~",
    "yes", "%TAG ! x", "--- x", "...", "\tx", "[" * 3000, "{" * 3000, "[" * 3000 + "]" * 3000, "{a: " * 1500 + "1" + "}" * 1500,
    BOMB, SHARED_MAPS, "9" * 5000, "x" * 300_000, "[" + "x, " * 20_000 + "x]", "1e400", "-1e400", "1e308", "10" * 60,
    "\x85x", "\u2028x", "\ufeffx", "a: b", "@x", "`x`", "!", "!<tag:yaml.org,2002:int> x", "!!int 0x", "!!int 1:99999999999999999999",
]  # fmt: skip


def make(case: Case) -> None:
    draw = case.draw
    name = draw.choice(sorted(COMMANDS))
    case.stock.fill(case.folder, name)
    path, recipe = case.folder / "recipe.yaml", copy.deepcopy(dict(SCENARIOS[name].recipe))
    how = draw.choices(("value", "piece", "bytes", "place", "key"), (50, 28, 10, 2, 10))[0]
    if how == "value":
        value, case.about = spoil_value(recipe, draw, odd_values(draw))
        path.write_text(as_yaml(value, draw), "utf-8", "surrogatepass")
    elif how == "piece":
        case.about = with_piece(case, recipe)
    elif how == "key":
        case.about = with_key(case, recipe)
    else:
        case.about = (spoil_bytes if how == "bytes" else spoil_place)(path, draw)
    argv = COMMANDS[name]
    if argv[0] in ("sweep", "amalgamate", "distill", "teach", "generate") and takes_long(path):
        argv = ["plan", "recipe.yaml", "--no-probe"]
    case.about = f"{' '.join(argv)}, {name}: {case.about}"
    case.run(step(case.folder, *argv), network=True)  # a name that is no path here may be asked for on the hub


def as_yaml(value: Any, draw: random.Random) -> str:
    """As YAML, or as JSON where the nesting is too deep for the library that writes YAML."""
    try:
        return yaml.safe_dump(value, sort_keys=False, allow_unicode=draw.random() < 0.3)
    except RecursionError:
        return json.dumps(value, default=str)


def odd_values(draw: random.Random) -> dict[str, Any]:
    import datetime

    return VALUES | {
        "a date": datetime.date(2001, 2, 3),
        "bytes": b"\xff",
        "a near miss": draw.choice(("alloi", "mukka", "amalgamat", "cdua", "boundled:minilm", "encoder/")),
        "a mapping of the whole": {"model": {"model": {"model": "encoder"}}},
        "a text of numbers": "1:2:3",
        "100 characters": "".join(draw.choices(string.printable, k=100)),
    }


def with_piece(case: Case, recipe: dict[str, Any]) -> str:
    """A piece of strange YAML in place of a value."""
    piece = case.draw.choice(PIECES)
    mark = "MARKED-PLACE"
    place = case.draw.choice(paths(recipe)[1:])
    value = copy.deepcopy(recipe)
    inner: Any = value
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = mark
    text = yaml.safe_dump(value, sort_keys=False).replace(mark, piece)
    (case.folder / "recipe.yaml").write_text(text, encoding="utf-8")
    return f"{'.'.join(map(str, place))}: {piece[:40]!r}"


def with_key(case: Case, recipe: dict[str, Any]) -> str:
    """One more key somewhere: unknown, doubled, of another type."""
    draw = case.draw
    value = copy.deepcopy(recipe)
    maps = [p for p in paths(value) if isinstance(_at(value, p), dict)]
    place = draw.choice(maps)
    key: Any = draw.choice(
        ["x", "modle", "", 1, None, True, 1.5, "a\nb", "\x1b[31m", "x" * 20_000, "trust_remote_code", "labels", "revision",
         "name", "path", "dataset", "validation", "keep_apart", "aliases", "limit", "salt_env", "text_pair", "report", "device"]
    )  # fmt: skip
    name, new = draw.choice(sorted(VALUES.items()))
    _at(value, place)[key] = copy.deepcopy(new)
    text = yaml.safe_dump(value, sort_keys=False)
    if draw.random() < 0.2:
        text += f"\noutput: elsewhere\n{draw.choice(['teachers', '? [a, b]', '1', 'output'])}: x\n"
    (case.folder / "recipe.yaml").write_text(text, encoding="utf-8")
    return f"{'.'.join(map(str, place))} has a key {str(key)[:30]!r}: {name}"


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def takes_long(path: Any) -> bool:
    """Whether a valid recipe asks for much work."""
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() and not path.is_symlink() else ""
        value = yaml.safe_load(text) if len(text) < 20_000 and "*" not in text else None
    except Exception:  # the command says what is wrong with it
        return False

    def large(key: str, inner: Any) -> bool:
        if isinstance(inner, dict):
            return any(large(str(k), v) for k, v in inner.items())
        if isinstance(inner, list) and len(inner) < 100:
            return any(large(key, v) for v in inner)
        return (
            key in LONG_WORK and isinstance(inner, (int, float)) and not isinstance(inner, bool) and 50 < inner < 1e300
        )

    return large("", value)


TABLE = Kind("recipes", "Recipes with damaged values, keys, YAML and bytes", 1000, make)
