"""benchmarks/results/scale.md: the figures of results/scale/*.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, note, ran
from benchmarks.harness.summary import rows

NOTES = Path(__file__).with_name("notes")
Figures = dict[str, Any]


def write() -> None:
    lines = ["# Several processes and machines", "", *note(NOTES, "summary")]
    for name, (title, table) in PARTS.items():
        made = measured("scale", name)
        lines += [
            f"## {title}",
            "",
            *(["Not measured yet.", ""] if made is None else [*table(made["figures"]), *ran(made)]),
        ]
    write_atomic(RESULTS / "scale.md", "\n".join(lines).rstrip() + "\n")


def _growth(f: Figures) -> list[str]:
    body = [
        [
            f"{s['texts']:,}", s["cpu_seconds"], f"{s['texts'] / s['cpu_seconds']:,.0f}", s["seconds"], s["peak_mb"],
            f"{s['written_bytes']:,}", f"{100 * (s['written_bytes'] / s['planned_bytes'] - 1):+.1f} %", f"{s['files']:,}",
        ]
        for s in f["sizes"]
    ]  # fmt: skip
    titles = [
        "texts",
        "CPU seconds",
        "texts per CPU second",
        "seconds",
        "peak memory, MB",
        "bytes written",
        "against `plan`",
        "files",
    ]
    return [
        f"`sweep` of short synthetic texts with two tiny teachers, one thread. CPU time grows with the power {f['slope']} of their number. The "
        "seconds that passed also depend on what else the machine did meanwhile, which was much.",
        "",
        *rows(titles, body),
    ]


def _workers(f: Figures) -> list[str]:
    body = [
        [key, found["seconds"], found["computing"], found["median_unit"], found["driver_seconds"],
         f"{100 * found['driver_seconds'] / found['computing']:.1f} %"]
        for key, found in f.items() if " × " in key
    ]  # fmt: skip
    titles = [
        "workers × threads",
        "seconds",
        "computing, all workers",
        "median unit, s",
        "driver, s",
        "driver / computing",
    ]
    return [
        f"{f['texts']:,} texts × {f['teachers']} teachers of one layer in shards of {f['shard']}, the better of two runs, on Ray; from the first unit's start to the last one's end. "
        f"The simulation below, fed with the units' times of the two workers, predicts {f['simulated']} s for them.",
        "",
        *rows(titles, body),
    ]


def _storage(f: Figures) -> list[str]:
    return [
        f"`sweep` of {f['texts']:,} texts by two tiny teachers into a bucket of moto's S3 server on this machine. After {f['before']} of {f['files']} files, all connections "
        f"were closed, and new ones too, for {f['down_seconds']:.0f} s. The sweep waited and ended with exit code {f['exit']}, {f['seconds']} s after its start.",
        "",
        *rows(
            [
                "files",
                "written while out of reach",
                "missing afterwards",
                "other bytes than on a local disk",
                "temporary files left",
            ],
            [[f["files"], f["meanwhile"], f["missing"], f["different"], f["left_over"]]],
        ),
    ]


def _cluster(f: Figures) -> list[str]:
    told = {
        "worker": "a worker killed",
        "node": "a node removed, another one added 3 s later",
        "driver": "the driver killed and started again",
        "slow": "a worker that needs 1 s more for each job",
        "sent": "workers that do not see the driver's store",
        "store": "the store out of reach for a minute",
    }
    keys = ("tried", "happened", "starts", "lost", "different", "again", "left_over", "seconds")
    body = [[told[row["fault"]], *(row[key] for key in keys)] for row in f["faults"]]
    titles = [
        "fault",
        "tried",
        "happened during the sweep",
        "starts of the command",
        "units lost",
        "units different",
        "finished units computed again",
        "temporary files left",
        "seconds, all tries",
    ]
    return [
        f"`sweep` of {f['texts']:,} texts by {f['teachers']} tiny teachers, {f['units']} units, on a Ray cluster of {f['nodes']} nodes with a core and a worker each, on this machine. "
        "Each fault happens after a random number of units. Afterwards all units are compared, byte by byte, with those of one process.",
        "",
        *rows(titles, body),
    ]


def _simulation(f: Figures) -> list[str]:
    s, c = f["settings"], f["settings"]["cluster"]
    body = [
        [x["gpus"], x["dispatch"], x["hours"], f"{x['dollars']:,}", f"{100 * x['efficiency']:.0f} %", x["failed"]]
        for x in f["clusters"]
    ]
    return [
        f"{s['texts']:,} texts × {s['teachers']} teachers, one pass, in units of {s['shard']:,} texts. Nothing here is measured on a GPU; assumed are "
        f"{s['texts_per_second']:,.0f} texts per second and GPU, ${s['price']:.2f} per GPU and hour, {c['load']:.0f} s to change a teacher, {c['write']} s of the storage per unit, "
        f"{c['failures']} failures per worker and hour, {c['start']:.0f} s until a worker is there again.",
        "",
        *rows(["GPUs", "driver, s per unit", "hours", "dollars", "of linear", "workers lost"], body),
    ]


PARTS = {
    "growth": ("Growth", _growth),
    "workers": ("One and two workers", _workers),
    "cluster": ("Faults of a cluster", _cluster),
    "storage": ("A store out of reach", _storage),
    "simulation": ("A billion texts, simulated", _simulation),
}
