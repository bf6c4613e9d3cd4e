"""Texts that careless readers spoil, and files of them."""

import gzip
import json

import pyarrow.parquet as pq

# What careless readers spoil: numbers, missing-value words, quotes, line breaks, other scripts, outer spaces.
TEXTS = ["00123", "NA", "null", " 1.50 ", 'He said "no", then left', "two\nlines", "naïve 日本 🙂", "true"]
LABELS = ["bug", "login", "bug", "refund", "bug", "login", "bug", "0"]


def cell(value, delimiter=","):
    return '"' + value.replace('"', '""') + '"' if set(value) & set(f'"\n{delimiter}') else value


def delimited(delimiter=","):
    lines = [delimiter.join(("text", "label"))]
    lines += [delimiter.join((cell(t, delimiter), y)) for t, y in zip(TEXTS, LABELS, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def json_lines(records=None):
    records = records or [{"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True)]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write(path, content):
    if path.suffix == ".parquet":
        pq.write_table(content, path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        path.write_bytes(content)
    return path
