"""benchmarks/results/scale.md: the figures of results/scale/*.json."""

from __future__ import annotations

from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows

Figures = dict[str, Any]


def write() -> None:
    lines = ["# Several processes and machines", ""]
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
        "bytes, against `plan`",
        "files",
    ]
    return [
        f"`sweep` of short synthetic texts with two tiny teachers, one thread. CPU time grows with the power {f['slope']} of the number of texts. "
        'The machine did much else meanwhile, and the column "seconds" depends on that. The last but one column compares the bytes written with those that `alloykit plan` predicted.',
        "",
        *rows(titles, body),
    ]


def _reading(f: Figures) -> list[str]:
    body = [
        [NAMES[kind], n, one["seconds"], one["first"], one["each of the others"] or "–"]
        for kind, found in f["formats"].items()
        for n, one in found["processes"].items()
    ]
    same = all(found["fingerprints"] == 1 for found in f["formats"].values())
    uncopied = f["uncopied"]
    order = [[f"{int(size):,}", *each.values()] for size, each in uncopied["groups"].items()]
    return [
        f"Reading, checking and hashing {f['texts']:,} short texts of a file with one process, or with a first one and two that read; the better of {f['rounds']} rounds. "
        + ("All gave the same ids in the same order." if same else "The ids differ."),
        "",
        *rows(
            ["format", "processes that read", "seconds", "CPU seconds, first process", "CPU seconds, each reader"], body
        ),
        f"One epoch in the order of training, of {uncopied['texts']:,} texts that stay in their Parquet file; CPU time of one process. A part of an epoch has 64 blocks of 16,384 texts. "
        "A row group is read at most once for each of its blocks, and once more.",
        "",
        *rows(["rows of a row group", "reads of each row group", "µs per text"], order),
    ]


def _workers(f: Figures) -> list[str]:
    body = [
        [key, found["seconds"], found["computing"], found["median_unit"], found["driver_seconds"],
         f"{100 * found['driver_seconds'] / found['computing']:.1f} %"]
        for key, found in f.items() if " × " in key and key != "1 × 1"
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
        "The driver's time is that of its processor.",
        "",
        *rows(titles, body),
    ]


def _driver(f: Figures) -> list[str]:
    body = [
        [
            f"{s['texts']:,}", s["units"], s["calls"], s["driver"], s["workers"],
            f"{1000 * s['driver'] / s['units']:.1f}", f"{100 * s['driver'] / s['workers']:.1f} %",
        ]
        for s in f["sizes"]
    ]  # fmt: skip
    titles = [
        "texts of a unit",
        "units",
        "calls of workers",
        "driver, CPU s",
        "workers, CPU s",
        "driver per unit, ms",
        "driver / workers",
    ]
    return [
        f"Processor time of the driver (the whole command) and of all jobs of {f['workers']} workers, for teachers of one layer. A call of a worker can have several short units. A user's units have 1,024 texts or more.",
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
        "grow": "two nodes come, then the first one goes",
        "store": "the S3 server stopped for a minute",
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
        "Each fault happens after a random number of units. Afterwards all units are compared, byte by byte, with those of one process. "
        "A process that dies while it writes may leave a temporary file. On a local disk the next command that writes to the folder removes it. In the last row the store is a bucket of moto's S3 server on this machine, and the server is stopped and started again.",
        "",
        *rows(titles, body),
        *_nodes_and_texts(f),
    ]


def _nodes_and_texts(f: Figures) -> list[str]:
    tries = [one for row in f["faults"] if row["fault"] == "grow" for one in row["jobs_of_nodes"]]
    texts = [[name, run["killed"], run["texts"], run["different"]] for name, run in f["generate"]["runs"].items()]
    return [
        "Nodes come and go: the sweep has no fixed number of `workers`, and begins with one node. Jobs that each node did, in the order in which the nodes came: "
        + "; ".join(" + ".join(map(str, one)) for one in tries)
        + f". The sweep has {f['units'] // 2} jobs; repeated ones count twice.",
        "",
        f"`generate` of {f['generate']['texts']} texts on the same cluster, beside one process:",
        "",
        *rows(["workers", "killed", "texts", "texts different"], texts),
    ]


def _training(f: Figures) -> list[str]:
    told = {
        "two": "two processes",
        "killed": "two processes, one of them killed after the first checkpoint",
        "fsdp": "two processes with FSDP",
        "fsdp_killed": "two processes with FSDP, one of them killed after the first checkpoint",
    }
    body = [
        [
            told[row["run"]], row["killed"], row["starts"], row["exit"], row["seconds"],
            *(f"{row[key]:.2g}" for key in ("weights", "probabilities")), f"{100 * row['labels']:.1f} %",
        ]
        for row in f["runs"]
    ]  # fmt: skip
    titles = [
        "training",
        "killed",
        "starts of the command",
        "exit code",
        "seconds, whole run",
        "largest difference of a weight",
        "of a probability",
        "same label",
    ]
    return [
        f"`amalgamate` of two tiny teachers with {f['texts']:,} texts and {f['epochs']} epochs, without dropout, in float32. Ray Train starts the processes (`engine: {{trainers: 2}}`); torchrun starts those with FSDP. FSDP shards the student on CPUs here: the benchmark tells accelerate that they are GPUs. "
        "The student is compared with that of one process: its weights, and its answers to 400 other texts.",
        "",
        *rows(titles, body),
    ]


def _folder(f: Figures) -> list[str]:
    kinds = ("the command", "the readers", "the worker")
    body = [
        [
            f"{s['texts']:,}", s["one"]["seconds"], s["ray"]["seconds"], *(s["ray"]["peak_mb"].get(kind, "–") for kind in kinds),
            f"{s['equal']} of {f['files']}",
        ]
        for s in f["sizes"]
    ]  # fmt: skip
    titles = [
        "texts",
        "seconds, one process",
        "seconds, Ray Data",
        *(f"most memory of {k.replace('the readers', 'a reader')}, MB" for k in kinds),
        "files with equal answers",
    ]
    return [
        f"`predict --to` of {f['files']} Parquet files with a tiny student and one worker; one of the files has half of the texts. Start included. Memory is that of each process alone.",
        "",
        *rows(titles, body),
    ]


def _simulation(f: Figures) -> list[str]:
    s, c = f["settings"], f["settings"]["cluster"]
    told = {"2 × 1": "the two workers' own units", "1 × 1": "the units of one worker with one thread"}
    checks = [
        [
            told[x["units_of"]],
            x["measured"],
            x["simulated"],
            f"{100 * (x['simulated'] / x['measured'] - 1):+.0f} %",
        ]
        for x in f["checks"]
    ]
    body = [
        [
            x["gpus"],
            x["store"],
            x["failures"],
            x["hours"],
            f"{x['dollars']:,}",
            f"{100 * x['efficiency']:.0f} %",
            x["failed"],
        ]
        for x in f["clusters"]
    ]
    return [
        "This is a discrete-event model of the engine, and no measurement. First it is compared with the run of two workers above. It leaves out three things: the second worker starts later, both share "
        "the memory of a machine, and this machine did other work.",
        "",
        *rows(["fed with the times of", "measured, s", "simulated, s", "difference"], checks),
        f"Then it predicts {s['texts']:,} texts × {s['teachers']} teachers, one pass, in units of {s['shard']:,} texts. Measured on this machine: {1000 * c['dispatch']:.1f} ms of the driver per unit "
        f"({1000 * s['sending']:.1f} ms of them read and pickle its texts), {1000 * c['write']:.1f} ms to write a unit, and a standard deviation of {100 * s['spread']:.0f} % of the units' times. "
        f"Assumed: {s['texts_per_second']:,.0f} texts per second and GPU, ${s['price']:.2f} per GPU and hour, {c['load']:.0f} s to change a teacher, {c['start']:.0f} s until a lost worker is there again, and {s['object_store']:.1f} s for a unit in an object store, which writes any number of units at once. The disk is that of this machine and writes one after another.",
        "",
        *rows(["GPUs", "store", "failures per worker and hour", "hours", "dollars", "of linear", "workers lost"], body),
        f"With these figures the driver is busy all the time at {s['saturates']['driver']:,} GPUs, and this disk at {s['saturates']['storage']:,}: more GPUs would not be faster. Larger units help: the driver's time is mostly per unit.",
        "",
    ]


NAMES = {"parquet": "Parquet", "csv": "CSV", "jsonl": "JSON lines"}
PARTS = {
    "growth": ("Growth", _growth),
    "reading": ("Reading", _reading),
    "workers": ("One and two workers", _workers),
    "driver": ("Overhead of the driver", _driver),
    "cluster": ("Faults of a cluster", _cluster),
    "training": ("Two training processes", _training),
    "folder": ("Folders of Parquet files", _folder),
    "storage": ("A store out of reach", _storage),
    "simulation": ("A billion texts, simulated", _simulation),
}
