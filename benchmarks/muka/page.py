"""benchmarks/results/muka.md, from the committed results."""


def write() -> None: ...
