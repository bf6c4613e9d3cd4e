"""Files of texts: every format damaged, huge, odd or compressed to burst, read by every command that reads texts."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
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

WORDS = [
    "please",
    "my",
    "parcel",
    "is",
    "late",
    "and",
    "the",
    "card",
    "was",
    "charged",
    "twice",
    "refund",
    "invoice",
    "box",
    "courier",
]
LABELS = ("refund", "charge", "invoice", "track", "damaged")
MEGABYTE = 1_000_000


def _table(draw: random.Random, n: int = 24) -> list[dict[str, Any]]:
    return [
        {"text": " ".join(draw.choices(WORDS, k=draw.randint(1, 9))), "label": draw.choice(LABELS)} for _ in range(n)
    ]


def _odd(draw: random.Random) -> list[dict[str, Any]]:
    """Rows with odd values."""
    rows = _table(draw)
    for _ in range(draw.choice((1, 3, 24))):
        row = draw.choice(rows)
        value = VALUES[draw.choice(sorted(VALUES))]
        row[draw.choice(("text", "label", "text", "more"))] = value
        if draw.random() < 0.2:
            row.pop(draw.choice(sorted(row)))
    return rows


def _csv(path: Path, rows: list[dict[str, Any]], **options: Any) -> None:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(k for row in rows for k in row)), extrasaction="ignore", **options)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), "utf-8", "surrogatepass", newline="")


def _jsonl(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _parquet(path: Path, columns: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any) -> None:
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path, **options)


def _plain_parquet(path: Path, draw: random.Random, metadata: dict[str, str] | None = None, **options: Any) -> None:
    rows = _table(draw)
    _parquet(path, {"text": [r["text"] for r in rows], "label": [r["label"] for r in rows]}, metadata, **options)


def _odd_csv(folder: Path, draw: random.Random) -> str:
    _csv(
        folder / "t.csv",
        _odd(draw),
        delimiter=draw.choice(",,,;\t|"),
        quoting=draw.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL)),
    )
    return "t.csv"


def _odd_jsonl(folder: Path, draw: random.Random) -> str:
    rows: list[Any] = list(_odd(draw))
    if draw.random() < 0.4:
        rows[draw.randrange(len(rows))] = draw.choice(list(VALUES.values()))
    _jsonl(folder / "t.jsonl", rows)
    return "t.jsonl"


def _json_list(folder: Path, draw: random.Random) -> str:
    value: Any = draw.choice(
        [_odd(draw), {"data": _odd(draw)}, {"text": ["a", "b"]}, [["a"], ["b"]], ["a", "b"], {}, [], 3, None]
    )
    (folder / "t.json").write_text(json.dumps(value))
    return "t.json"


def _spoilt(folder: Path, draw: random.Random) -> str:
    name = draw.choice(("t.csv", "t.jsonl", "t.parquet", "t.txt", "t.json", "t.tsv", "t.csv.gz"))
    path = folder / name
    rows = _table(draw)
    if name == "t.parquet":
        _plain_parquet(path, draw)
    elif name in ("t.jsonl", "t.json"):
        _jsonl(path, rows)
    elif name == "t.txt":
        path.write_text("\n".join(r["text"] for r in rows))
    elif name == "t.csv.gz":
        _csv(folder / "t.csv", rows)
        path.write_bytes(gzip.compress((folder / "t.csv").read_bytes()))
    else:
        _csv(path, rows, delimiter="\t" if name == "t.tsv" else ",")
    if draw.random() < 0.85:
        spoil_bytes(path, draw)
    else:
        spoil_place(path, draw, besides="a pipe")  # `predict RUN <(cat texts)` rightly waits for who writes into it
    return name


def _metadata(folder: Path, draw: random.Random) -> str:
    """Parquet with what `datasets` believes about it."""
    features: Any = {"text": {"dtype": "string", "_type": "Value"}, "label": {"names": ["a"], "_type": "ClassLabel"}}
    told = draw.choice(
        ["{", "[]", "null", '"x"', '{"info": 3}', '{"info": {"features": 3}}', '{"info": {"features": {"text": {"_type": "Nothing"}}}}',
         '{"info": {"features": {"text": {"dtype": "nothing", "_type": "Value"}}}}', '{"info": {"features": {"text": "x"}}}',
         '{"info": {"features": {"text": {"_type": ["Value"]}}}}', '{"info": {"features": {"nowhere": {"dtype": "string", "_type": "Value"}}}}',
         json.dumps({"info": {"features": features}}), '{"info": {"features": {"text": {"_type": "Image"}}}}', "\\ud800", "[" * 5000,
         '{"info": {"features": {"text": {"_type": "Audio", "sampling_rate": "x"}}}}', '{"info": {"features": [3]}}', '{"infos": 1}']
    )  # fmt: skip
    _plain_parquet(folder / "t.parquet", draw, {"huggingface": told})
    return "t.parquet"


def _columns(folder: Path, draw: random.Random) -> str:
    """Parquet columns of odd types."""
    text = ["a text", "another", "a third"]
    columns: dict[str, Any] = draw.choice(
        [
            {"text": [["a"], ["b"], []]}, {"text": [{"a": 1}] * 3}, {"text": [b"\xff", b"a", None]}, {"text": [1, 2, 3]}, {"text": [None] * 3},
            {"text": pa.array(text).dictionary_encode(), "label": pa.array([0, 10**18, -1])}, {"text": text, "label": [0.5, 1.5, None]},
            {"text": text, "label": [[0], [1], None]}, {"text": pa.array(text, pa.large_string()), "label": [True, False, None]},
            {"text": pa.array([1, 2, 3], pa.duration("s"))}, {"text": pa.array([1, 2, 3], pa.timestamp("ns", "UTC"))}, {"other": text},
            {"text": pa.nulls(3)}, {"text": text, "label": pa.array([2**63 - 1] * 3, pa.uint64())}, {"text": pa.array(text, pa.string_view())},
            {"text": pa.array([b"a"] * 3, pa.binary(1))}, {"text": text, "__index_level_0__": [1, 2, 3], "text_pair": [None, "", "x"]},
            {"text": []}, {},
        ]
    )  # fmt: skip
    _parquet(folder / "t.parquet", columns)
    return "t.parquet"


def _huge(folder: Path, draw: random.Random) -> str:
    """Little on the disk or one line of it, much in memory."""
    kind = draw.choice(
        (
            "line",
            "words",
            "csv cell",
            "json text",
            "parquet cell",
            "parquet bomb",
            "gzip bomb",
            "deep json",
            "many columns",
            "label",
            "rows of parquet",
        )
    )
    size = draw.choice((2, 20, 52)) * MEGABYTE
    if kind == "line":
        (folder / "t.txt").write_text("a short line\n" + "x" * size + "\nanother line\n")
        return "t.txt"
    if kind == "words":
        (folder / "t.txt").write_text("a short line\n" + "late parcel " * (size // 12) + "\nanother line\n")
        return "t.txt"
    if kind == "csv cell":
        (folder / "t.csv").write_text('text,label\na text,refund\n"' + "card " * (size // 5) + '",track\nlast,charge\n')
        return "t.csv"
    if kind == "label":
        _csv(folder / "t.csv", [*_table(draw), {"text": "x", "label": "y" * (size // 10)}])
        return "t.csv"
    if kind == "json text":
        _jsonl(folder / "t.jsonl", [*_table(draw), {"text": "card " * (size // 5), "label": "track"}])
        return "t.jsonl"
    if kind == "deep json":
        depth = draw.choice((500, 20_000, 200_000))
        (folder / "t.jsonl").write_text(
            '{"text": "a", "label": "refund"}\n{"text": ' + "[" * depth + "]" * depth + "}\n"
        )
        return "t.jsonl"
    if kind == "gzip bomb":
        with gzip.open(folder / "t.csv.gz", "wb") as file:
            file.write(b"text,label\na text,refund\n")
            for _ in range(200):
                file.write(b"x" * MEGABYTE)
        return "t.csv.gz"
    if kind == "many columns":
        _parquet(folder / "t.parquet", {f"c{n}": ["x"] for n in range(3000)} | {"text": ["x"]})
        return "t.parquet"
    if kind == "rows of parquet":
        _parquet(folder / "t.parquet", {"text": pa.array(["the same text"] * 200_000)}, compression="zstd")
        return "t.parquet"
    cell = "x" * (200 * MEGABYTE if kind == "parquet bomb" else 20 * MEGABYTE)
    _parquet(
        folder / "t.parquet",
        {"text": ["a text", cell, "another"], "label": ["refund", "track", "charge"]},
        compression="zstd",
    )
    return "t.parquet"


def _names(folder: Path, draw: random.Random) -> str:
    """Odd folders and names."""
    kind = draw.choice(
        (
            "mixed folder",
            "empty folder",
            "odd name",
            "no ending",
            "double",
            "columns twice",
            "header only",
            "quote left open",
        )
    )
    if kind == "mixed folder":
        (folder / "t").mkdir()
        _csv(folder / "t" / "a.csv", _table(draw))
        _jsonl(folder / "t" / "b.jsonl", _table(draw))
        (folder / "t" / "c.bin").write_bytes(b"\xff")
        return "t"
    if kind == "empty folder":
        (folder / "t").mkdir()
        return "t"
    if kind == "odd name":
        name = draw.choice(
            (
                "t[1].csv",
                "t*.csv",
                "t?.csv",
                "{t}.csv",
                "t%20.csv",
                "-t.csv",
                "t\n.csv",
                "\x1b[31m.csv",
                "hf:t.csv",
                "t#1.csv",
            )
        )
        _csv(folder / name, _table(draw))
        return name
    if kind == "no ending":
        _csv(folder / "t", _table(draw))
        return "t"
    if kind == "double":
        (folder / "t.csv").write_text("text,text,label,label\na,b,refund,track\n")
    elif kind == "columns twice":
        (folder / "t.csv").write_text("text,label\n" + "a,b,c,d\n" * 5 + "a\n")
    elif kind == "header only":
        (folder / "t.csv").write_text(draw.choice(("text,label\n", "text,label", ",\n", "\n\n\n", "label\nx\n")))
    else:
        (folder / "t.csv").write_text('text,label\n"a,refund\nb,track\n' * 3)
    return "t.csv"


MAKERS: list[tuple[Callable[[Path, random.Random], str], int]] = [
    (_odd_csv, 18), (_odd_jsonl, 18), (_json_list, 6), (_spoilt, 25), (_metadata, 9), (_columns, 9), (_huge, 9), (_names, 9)
]  # fmt: skip
USES = ("plan", "sweep", "predict", "evaluate", "teach", "distill", "predict -", "amalgamate")


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    use = draw.choice(USES)
    case.stock.fill(folder, {"teach": "teach", "distill": "distill"}.get(use, "muka"))
    maker = draw.choices([m for m, _ in MAKERS], [w for _, w in MAKERS])[0]
    name = maker(folder, draw)
    case.about = f"{use}: {maker.__name__.strip('_')}, {name!r}"
    recipe = folder / "recipe.yaml"
    told = yaml.safe_load(recipe.read_text())
    block: Any = {"path": f"./{name}"} | (
        {"label": "label"} if use in ("teach", "distill") or draw.random() < 0.3 else {}
    )
    if draw.random() < 0.1:
        block["bad_rows"] = "refuse"
    if draw.random() < 0.1:
        block["label_names"] = ["a", "b"]
    if use == "teach":
        told["data"] = block
    elif use != "evaluate":
        told["texts"] = block
    recipe.write_text(yaml.safe_dump(told))
    argv = {
        "plan": ["plan", "recipe.yaml", "--no-probe"],
        "predict": ["predict", "billing", f"./{name}"],
        "predict -": ["predict", "billing", "-"],
        "evaluate": ["evaluate", "billing", "--data", f"./{name}"],
    }.get(use, [use, "recipe.yaml"])
    source = folder / name
    regular = source.is_file() and not os.path.islink(source)
    stdin = str(source) if use == "predict -" and regular else None
    case.run(step(folder, *argv, stdin=stdin))


TABLE = Kind("data", "Damaged, odd and huge files of texts", 300, make)
