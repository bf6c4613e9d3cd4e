"""Files of stored answers: every form and format with odd values, columns, encodings and sizes, read by every command that reads them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import VALUES, spoil_bytes, spoil_place
from benchmarks.faults.steps import step
from benchmarks.faults.stock import MELT

LABELS = ("track", "damaged")
MEGABYTE = 1_000_000
NUMBERS: list[Any] = [
    math.nan, math.inf, -math.inf, -0.5, 2.0, 0, 1, 10**30, 10**400, -(10**400), 1e308, "0.5", " 0.5 ", "0,5", "1e400", "nan", "NaN", "inf", "-0", "½",
    "٠.٥", "0x1", "1_0", True, None, "", "x", [0.5], {"a": 1}, "9" * 5000,
]  # fmt: skip
FORMS: list[dict[str, Any]] = [
    {}, {"labels": list(LABELS)}, {"values": "logits"}, {"label": "label", "confidence": "p"}, {"label": "label", "certainty": 0.9}, {"top": "top"},
    {"by": "row", "labels": list(LABELS)}, {"by": "row", "label": "label", "confidence": "p"}, {"text_pair": "pair"}, {"labels": ["track", "nowhere"]},
    {"label": "text", "certainty": 0.9}, {"top": "text"},
]  # fmt: skip
COMMANDS = (
    (["sweep", "recipe.yaml"], 55),
    (["plan", "recipe.yaml"], 15),
    (["doctor", "recipe.yaml"], 10),
    (["amalgamate", "recipe.yaml"], 20),
)


def _rows(folder: Path, draw: random.Random, form: dict[str, Any]) -> list[dict[str, Any]]:
    """Good rows of a form, for most of the texts."""
    with (folder / "texts.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    rows: list[dict[str, Any]] = []
    for text in texts if form.get("by") == "row" else texts[: draw.choice((40, 72))]:
        p = round(draw.random(), 3)
        row: dict[str, Any] = {"text": text, "pair": "x"} if "text_pair" in form else {"text": text}
        if "label" in form:
            row |= {"label": draw.choice(LABELS), "p": p}
        elif "top" in form:
            row["top"] = {"track": round(math.log(p + 1e-3), 3), "damaged": -1.5}
        else:
            row |= {"track": p, "damaged": round(1 - p, 3)}
        rows.append(row)
    return rows


def _odd(rows: list[dict[str, Any]], draw: random.Random) -> str:
    """Spoil some cells, keys or rows."""
    how = draw.choice(("numbers", "numbers", "values", "keys", "twice", "shuffled", "contradicting", "fewer"))
    for _ in range(draw.choice((1, 1, 5, len(rows)))):
        row = draw.choice(rows)
        key = draw.choice(sorted(row))
        if how == "numbers":
            key = draw.choice([k for k in sorted(row) if k not in ("text", "pair")] or [key])
            row[key] = draw.choice(NUMBERS)
            if key == "top" and draw.random() < 0.8:
                odd = draw.choice(NUMBERS)
                row[key] = draw.choice(
                    [{"track": odd}, [["track", odd]], [{"label": "track", "logprob": odd}], [{"label": odd, "logprob": 0}], [[1]], ["ab"], [odd], {}, []]
                )  # fmt: skip
        elif how == "values":
            row[key] = VALUES[draw.choice(sorted(VALUES))]
        elif how == "keys":
            row[draw.choice(["more", "", "text ", " track", "track", "a\nb", "\x1b[31m", "label"])] = row.pop(key)
    if how == "twice":
        rows += rows[:20]
    elif how == "contradicting":
        rows += [row | {"label": "damaged", "track": 0.0, "damaged": 1.0} for row in rows[:20]]
    elif how == "shuffled":
        draw.shuffle(rows)
    elif how == "fewer":
        del rows[draw.randrange(len(rows)) :]
    return how


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return
    if path.suffix == ".parquet":
        try:
            table = pa.Table.from_pylist(rows)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError, TypeError):  # columns of mixed values: as JSON
            table = pa.Table.from_pylist([{k: _as_text(v) for k, v in row.items()} for row in rows])
        pq.write_table(table, path)
        return
    out = io.StringIO()
    names = list(dict.fromkeys(k for row in rows for k in row)) or ["text"]
    writer = csv.DictWriter(out, names, extrasaction="ignore", delimiter="\t" if ".tsv" in path.name else ",")
    writer.writeheader()
    writer.writerows({k: json.dumps(v) if isinstance(v, (dict, list)) else v for k, v in row.items()} for row in rows)
    data = out.getvalue().encode("utf-8", "surrogatepass")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def _as_text(value: Any) -> str:
    return json.dumps(value).encode("ascii", "backslashreplace").decode()


def _values(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    name, rows = (
        draw.choice(("a.csv", "a.csv", "a.tsv", "a.csv.gz", "a.jsonl", "a.jsonl", "a.parquet")),
        _rows(folder, draw, form),
    )
    how = _odd(rows, draw)
    if not rows:
        rows = [{"text": "x"}]
    _write(folder / name, rows)
    return name, how


def _damaged(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    name = draw.choice(("a.csv", "a.csv.gz", "a.jsonl", "a.parquet", "a.parquet"))
    _write(folder / name, _rows(folder, draw, form))
    return name, (spoil_bytes if draw.random() < 0.8 else spoil_place)(folder / name, draw)


def _columns(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    """Parquet columns of odd types."""
    rows = _rows(folder, draw, form)
    n = len(rows)
    odd: dict[str, Any] = {
        "lists": [[0.5]] * n, "structs": [{"a": 1}] * n, "bytes": [b"\xff\xfe"] * n, "nulls": pa.nulls(n), "booleans": [True] * n,
        "times": pa.array([10**18] * n, pa.timestamp("s")), "durations": pa.array([2**62] * n, pa.duration("s")), "halves": pa.array([0.5] * n, pa.float16()),
        "decimals": pa.array([10**30] * n, pa.decimal256(60, 2)), "dictionaries": pa.array(["0.5"] * n).dictionary_encode(),
        "views": pa.array(["0.5"] * n, pa.string_view()), "unsigned": pa.array([2**63 + 1] * n, pa.uint64()), "days": pa.array([2**30] * n, pa.date32()),
        "maps": pa.array([[("track", -0.1)]] * n, pa.map_(pa.string(), pa.float64())), "broken strings": pa.array([b"\xff"] * n).cast(pa.string(), safe=False),
        "large strings": pa.array(["0.5"] * n, pa.large_string()), "months": pa.array([(1, 2, 3)] * n, pa.month_day_nano_interval()),
        "structs of labels": [{"track": -0.1, "damaged": -3.0}] * n,
    }  # fmt: skip
    how = draw.choice(sorted(odd))
    columns = {key: [row.get(key) for row in rows] for key in rows[0]}
    key = draw.choice(sorted(columns))
    names, arrays = list(columns), [pa.array(v) if isinstance(v, list) else v for v in columns.values()]
    arrays[names.index(key)] = odd[how] if isinstance(odd[how], pa.Array) else pa.array(odd[how])
    if draw.random() < 0.1:
        names[-1] = names[0]
    table = pa.Table.from_arrays(arrays, names=names)
    try:
        pq.write_table(table, folder / "a.parquet")
    except pa.ArrowException:  # a type that Parquet lacks
        pq.write_table(
            table.drop_columns([key]) if len(set(names)) == len(names) else pa.table({"text": ["x"]}),
            folder / "a.parquet",
        )
        how += ", left out"
    return "a.parquet", f"{key}: {how}"


def _huge(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    """Little on the disk, or one cell of it, much in memory."""
    how = draw.choice(
        (
            "cell",
            "parquet bomb",
            "list bomb",
            "gzip bomb",
            "labels",
            "columns",
            "deep cell",
            "rows",
            "long label",
            "long top",
        )
    )
    rows = _rows(folder, draw, form)
    key = next(k for k in reversed(rows[0]))
    if how == "cell":
        rows[3][key] = "x" * draw.choice((2, 20)) * MEGABYTE
    elif how == "parquet bomb":
        big = "x" * (200 * MEGABYTE)
        pq.write_table(
            pa.table({**{k: [r[k] for r in rows[:3]] for k in rows[0] if k != key}, key: ["a", big, "b"]}),
            folder / "a.parquet",
            compression="zstd",
        )
        return "a.parquet", how
    elif how == "list bomb":
        cell = pa.array([[0.0] * (30 * MEGABYTE), [0.1], [0.2]], pa.list_(pa.float64()))
        pq.write_table(
            pa.table({**{k: [r[k] for r in rows[:3]] for k in rows[0] if k != key}, key: cell}),
            folder / "a.parquet",
            compression="zstd",
        )
        return "a.parquet", how
    elif how == "gzip bomb":
        with gzip.open(folder / "a.csv.gz", "wb") as file:
            file.write(b"text,track,damaged,label,p,top\n")
            for _ in range(200):
                file.write(b"x" * MEGABYTE)
        return "a.csv.gz", how
    elif how == "labels":
        for n in range(12_000):
            rows.append(
                {"text": f"text {n}"}
                | {k: f"label-{n}" if k == "label" else 0.5 for k in rows[0] if k not in ("text", "top")}
            )
            if "top" in form:
                rows[-1]["top"] = {f"label-{n}": -0.1}
    elif how == "columns":
        rows = [row | {f"c{n}": 0.0 for n in range(3_000)} for row in rows[:20]]
    elif how == "deep cell":
        depth = draw.choice((500, 20_000))
        with (folder / "a.jsonl").open("w") as file:
            for row in rows[:-1]:
                file.write(json.dumps(row) + "\n")
            file.write(json.dumps(rows[-1] | {key: "DEEP"}).replace('"DEEP"', "[" * depth + "]" * depth) + "\n")
        return "a.jsonl", how
    elif how == "rows":
        rows = rows * 800
    elif how == "long label":
        rows[0]["label"], rows[1]["y" * 100_000] = "y" * 100_000, 0.5
    elif "top" in form:
        rows[0]["top"] = {f"x{n}": -5.0 for n in range(20_000)} | {"track": -0.1}
    name = draw.choice(("a.csv", "a.jsonl"))
    _write(folder / name, rows)
    return name, how


def _encoded(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    how = draw.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp500", "utf-7"))
    name = draw.choice(("a.csv", "a.jsonl"))
    rows = [
        row | {"text": f"{row['text']} é"} if n % 3 == 0 else row for n, row in enumerate(_rows(folder, draw, form))
    ]
    _write(folder / name, rows)
    text = (folder / name).read_text(encoding="utf-8")
    if name == "a.jsonl":
        text = text.replace("\\u00e9", "é")
    (folder / name).write_bytes(text.encode(how, "replace"))
    return name, how


def _folders(folder: Path, draw: random.Random, form: dict[str, Any]) -> tuple[str, str]:
    """Folders, several files of other columns, odd names."""
    how = draw.choice(
        ("two files", "other columns", "empty", "a folder in it", "a pipe in it", "a link out", "an odd name")
    )
    (folder / "a").mkdir()
    rows = _rows(folder, draw, form)
    if how == "an odd name":
        name = draw.choice(
            ("a[1].csv", "a*.csv", "-a.csv", "a\n.csv", "\x1b[31m.csv", "a#.csv", "é.csv", "a.CSV", "a.dat")
        )
        _write(folder / name, rows)
        return name, how
    if how != "empty":
        _write(folder / "a" / "1.csv", rows[:20])
        _write(folder / "a" / "2.csv", [{"other": 1}] if how == "other columns" else rows[20:])
    if how == "a folder in it":
        (folder / "a" / "3.csv").mkdir()
    elif how in ("a pipe in it", "a link out"):
        spoil_place(folder / "a" / "2.csv", draw)
    return "a", how


Maker = Callable[[Path, random.Random, dict[str, Any]], tuple[str, str]]
MAKERS: list[tuple[Maker, int]] = [
    (_values, 40),
    (_damaged, 20),
    (_columns, 12),
    (_huge, 12),
    (_encoded, 8),
    (_folders, 8),
]


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    case.stock.fill(folder)
    form = draw.choice(FORMS)
    maker = draw.choices([m for m, _ in MAKERS], [w for _, w in MAKERS])[0]
    name, how = maker(folder, draw, form)
    told = {"answers": f"./{name}", "name": "stored", **form}
    value = MELT | {"teachers": ["billing", told], "method": draw.choice(("alloy", "ensemble"))}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
    case.about = f"{argv[0]}: {maker.__name__.strip('_')}, {how}, {form}, {name!r}"
    ended = case.run(step(folder, *argv), network=argv[0] == "doctor")[0]  # doctor tries the hub
    if argv[0] in ("sweep", "amalgamate") and ended.code == 0:
        case.demand(not (wrong := no_probabilities(folder / "run" / "cache", "stored")), "different", wrong)


def no_probabilities(store: Path, teacher: str) -> str:
    """What is wrong with a teacher's stored outputs: a row that is neither of finite numbers nor without an answer; "" if nothing is."""
    import safetensors.torch

    for path in sorted((store / "teachers" / teacher).glob("*/*.logits.safetensors")):
        logits = safetensors.torch.load_file(path)["logits"]
        finite = logits.isfinite()
        if not bool((finite.all(-1) | logits.isnan().all(-1)).all()):
            return f"{path.name}: {logits[~finite.all(-1)][:2].tolist()}"
    return ""


TABLE = Kind("answers", "Damaged, odd and huge files of stored answers", 300, make)
