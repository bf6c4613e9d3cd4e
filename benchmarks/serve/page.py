"""results/serve.md: the figures of results/serve/load.json."""

from __future__ import annotations

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows


def write() -> None:
    lines = ["# The server under load", ""]
    made = measured("serve", "load")
    if made is None:
        lines += ["Not measured yet."]
    else:
        f, over = made["figures"], made["figures"]["over"]
        columns = ("requests", "answered_per_second", "p50_ms", "p99_ms", "wrong", "lost")
        lines += [
            f"The demo's student ({f['student'] / 1e6:.1f} million parameters), `alloykit serve` with its defaults, on the loopback address. "
            "The clients run on the same cores as the server. Each request has one text, and each client waits for its "
            "answer before it sends the next. An answer is wrong if a probability differs from that of `alloykit predict` by more than 0.0001; it is "
            "lost if the connection breaks.",
            "",
            *rows(
                ["clients", "requests", "answers per second", "p50, ms", "p99, ms", "wrong", "lost"],
                [[n, *(row[c] for c in columns)] for n, row in f["clients"].items()],
            ),
            f"Over the limit: {over['clients']} clients, and a queue of {over['queue']} texts. A refused client asks at once for its next text.",
            "",
            *rows(
                ["", "requests", "status 200", "status 503", "p99 of 200, ms", "wrong", "lost"],
                [
                    [
                        what,
                        row["requests"],
                        row["statuses"].get("200", 0),
                        row["statuses"].get("503", 0),
                        row["p99_ms"],
                        row["wrong"],
                        row["lost"],
                    ]
                    for what, row in (("over the limit", over), ("one client, right after it", over["after"]))
                ],
            ),
            *ran(made),
        ]
    write_atomic(RESULTS / "serve.md", "\n".join(lines).rstrip() + "\n")
