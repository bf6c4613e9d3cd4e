"""Teachers that are Python functions and answer rubbish, raise anything, or change what the whole process shares.

A case writes a module beside its recipe. Its function does one odd thing: at every call, from a later call on, at some texts, or when the module
is imported. What was refused is run again with a good function, and must then finish.
"""

from __future__ import annotations

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.steps import step
from benchmarks.faults.stock import DELIVERY, MELT, write_recipe

ANSWERS = {
    "a row too few": "good(texts)[1:]",
    "a row too many": "good(texts) + good(texts)[:1]",
    "nothing": "None",
    "an empty list": "[]",
    "a number": "0.5",
    "a text": "'track'",
    "a dictionary": "{'track': 0.5, 'damaged': 0.5}",
    "a generator": "(row for row in good(texts))",
    "an endless generator": "__import__('itertools').count()",
    "rows without an end": "[__import__('itertools').repeat(0.5) for _ in texts]",
    "rows that are generators": "[iter(row) for row in good(texts)]",
    "sets": "[{0.25, 0.75} for _ in texts]",
    "tuples": "tuple(tuple(row) for row in good(texts))",
    "one column": "[[1.0] for _ in texts]",
    "three columns": "[[0.5, 0.25, 0.25] for _ in texts]",
    "logits": "[[3.0, -2.0] for _ in texts]",
    "not a number": "[[float('nan'), 1.0] for _ in texts]",
    "all not a number": "[[float('nan')] * 2 for _ in texts]",
    "infinity": "[[float('inf'), 0.0] for _ in texts]",
    "negative": "[[1.5, -0.5] for _ in texts]",
    "a sum of 2": "[[1.0, 1.0] for _ in texts]",
    "a sum of 0": "[[0.0, 0.0] for _ in texts]",
    "the smallest numbers": "[[5e-324, 1.0] for _ in texts]",
    "labels": "['track' for _ in texts]",
    "labels as numpy texts": "np.array(['damaged'] * len(texts))",
    "an unknown label": "['lost' for _ in texts]",
    "a long label": "['x' * 1_000_000 for _ in texts]",
    "a label with control characters": "['\\x1b[31m\\u202e' for _ in texts]",
    "texts of numbers": "[['0.5', '0.5'] for _ in texts]",
    "words": "[['half', 'half'] for _ in texts]",
    "bytes": "[b'ab' for _ in texts]",
    "dictionaries": "[{'track': 1} for _ in texts]",
    "dictionaries with other labels": "[{'track': 0.5, None: 0.5} for _ in texts]",
    "dictionaries of rubbish": "[{'track': object(), 'damaged': []} for _ in texts]",
    "empty dictionaries": "[{} for _ in texts]",
    "no answer": "[None for _ in texts]",
    "no answer to some": "[row if i % 3 else None for i, row in enumerate(good(texts))]",
    "an array": "np.array(good(texts), dtype=np.float16)",
    "an array of objects": "np.array([[object(), 0.5] for _ in texts], dtype=object)",
    "an array of lists": "np.array([None] + [[0.5, 0.5]] * len(texts), dtype=object)[1:]",
    "an array of three dimensions": "np.array(good(texts))[..., None]",
    "an array of one dimension": "np.array([0.5] * len(texts))",
    "an array without dimensions": "np.array(0.5)",
    "a masked array": "np.ma.masked_all((len(texts), 2))",
    "a structured array": "np.array([(0.5, 0.5)] * len(texts), dtype=[('a', float), ('b', float)])",
    "dates": "np.array([['2020-01-01', '2020-01-02']] * len(texts), dtype='datetime64[D]')",
    "complex numbers": "np.array(good(texts)) + 1j",
    "rows of complex numbers": "[[np.complex64(0.5 + 1j), np.complex64(0.5)] for _ in texts]",
    "a huge whole number": "[[10**400, 0] for _ in texts]",
    "decimals": "[[__import__('decimal').Decimal('0.5')] * 2 for _ in texts]",
    "fractions": "[[__import__('fractions').Fraction(1, 2)] * 2 for _ in texts]",
    "booleans": "[[True, False] for _ in texts]",
    "a tensor": "torch.tensor(good(texts), dtype=torch.bfloat16)",
    "a tensor with gradients": "torch.tensor(good(texts), requires_grad=True)",
    "a tensor without values": "torch.empty(len(texts), 2, device='meta')",
    "rows of tensors without values": "[[torch.empty((), device='meta')] * 2 for _ in texts]",
    "a sparse tensor": "torch.tensor(good(texts)).to_sparse()",
    "complex tensors": "torch.complex(torch.tensor(good(texts)), torch.ones(len(texts), 2))",
    "quantised": "torch.quantize_per_tensor(torch.tensor(good(texts)), 0.1, 0, torch.qint8)",
    "a list in itself": "endless(texts)",
    "a class": "list",
    "an object that fails at all": "Fails()",
    "rows that fail at all": "[Fails() for _ in texts]",
    "numbers that fail": "[[Fails(), Fails()] for _ in texts]",
    "a list that tells a wrong length": "Liar(good(texts))",
    "a data frame": "__import__('pandas').DataFrame(good(texts))",
    "a large integer array": "np.ones((len(texts), 2), dtype=np.int64) * 2**62",
}  # fmt: skip
RAISES = {
    "raises Exception": "raise Exception('x' * 100_000)",
    "raises an error with control characters": "raise ValueError('\\x1b[31m\\nerror: a second line\\u202e')",
    "raises an error that cannot be printed": "raise Unprintable()",
    "raises SystemExit": "raise SystemExit",
    "raises SystemExit 0": "raise SystemExit(0)",
    "raises SystemExit 3": "sys.exit(3)",
    "raises SystemExit with a text": "sys.exit('goodbye')",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "raises StopIteration": "raise StopIteration",
    "raises GeneratorExit": "raise GeneratorExit",
    "raises CancelledError": "import asyncio; raise asyncio.CancelledError",
    "raises a BaseException": "class Own(BaseException): ...\n    raise Own('own')",
    "raises MemoryError": "raise MemoryError",
    "raises a group": "raise BaseExceptionGroup('many', [SystemExit(1), KeyboardInterrupt()])",
    "raises an error without room": "raise OSError(28, 'No space left on device')",
    "raises BrokenPipeError": "raise BrokenPipeError(32, 'Broken pipe')",
    "raises UnicodeDecodeError": "b'\\xff'.decode()",
    "raises AssertionError": "assert not 'this'",
    "recurses": "return function(texts)",
    "asks stdin": "input('your name? ')",
}  # fmt: skip
DISTURBS = {
    "prints": "print('x' * 10_000); print('rubbish', file=sys.stderr)",
    "changes the folder": "os.chdir('/')",
    "changes its list": "texts.clear()",
    "shortens its list": "del texts[0]",
    "writes into its list": "texts[:] = [5] * len(texts)",
    "turns gradients off": "torch.set_grad_enabled(False)",
    "changes the number format": "torch.set_default_dtype(torch.float64)",
    "seeds": "random.seed(0); np.random.seed(0); torch.manual_seed(0)",
    "changes the threads": "torch.set_num_threads(2)",
    "replaces stdout": "sys.stdout = open(os.devnull, 'w')",
    "makes warnings errors": "warnings.simplefilter('error')",
    "warns": "warnings.warn('deprecated ' * 1000)",
    "sets a handler": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "lowers the recursion limit": "sys.setrecursionlimit(200)",
    "changes the environment": "os.environ['OMP_NUM_THREADS'] = 'x'; os.environ.pop('HOME', None)",
    "takes its time": "time.sleep(0.05)",
    "starts a thread": "threading.Thread(target=time.sleep, args=(0.1,), daemon=True).start()",
    "logs": "logging.getLogger().error('x' * 1000); logging.basicConfig(level=0)",
}  # fmt: skip
CHANGES = {
    "answers differently each time": "[[p, 1 - p] for p in [random.random() for _ in texts]]",
    "answers by the length of its list": "[[1 / len(texts), 1 - 1 / len(texts)] for _ in texts]",
    "remembers": "state.append(len(texts)) or [[0.5, 0.5] for _ in texts]",
}
MODULE = """
import logging, os, random, signal, sys, threading, time, warnings
import numpy as np, torch

calls, state = [], []


class Fails:
    def __getattr__(self, name):
        raise RuntimeError("no " + name)

    def __repr__(self):
        raise RuntimeError("no repr")

    __len__ = __iter__ = __float__ = __str__ = __repr__


class Liar(list):
    def __iter__(self):
        return iter([[0.5, 0.5]])


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no message")


def endless(texts):
    found = [[0.5, 0.5] for _ in texts]
    found[0] = found
    return found


def good(texts):
    return [[0.25 + len(str(t)) % 5 / 10, 0.75 - len(str(t)) % 5 / 10] for t in texts]


def function(texts):
    calls.append(1)
    if WHEN:
        ODD
    return good(texts)


AT_IMPORT
"""
WHENS = {
    "always": "True",
    "later": "len(calls) > 1",
    "at some texts": "any('app' in t for t in texts)",
    "once": "len(calls) == 1",
}
NAMES = {
    "rules:function": 120, "rules:good": 1, "rules:Fails": 1, "rules:calls": 1, "rules:no": 1, "rules:": 1, ":function": 1, "rules": 1, "no:f": 1, "rules:function.x": 1, ".rules:f": 1,
    "..:f": 1, "rules..x:f": 1, "rules:os.getcwd": 1, "rules:function:x": 1, "rúles:function": 1, "ru les:function": 1, "rules\\x1b:f": 1, "rules/x:f": 1, "rules:__class__.__init__": 1,
    "builtins:len": 1, "builtins:exit": 1, "os:abort.x": 1, "x" * 5_000 + ":f": 1, "rules:" + "a." * 5_000: 1, "rules:function ": 1, "-:-": 1, "𝐫𝐮𝐥𝐞𝐬:function": 1,
}  # fmt: skip
COMMANDS = (["sweep", "recipe.yaml"], ["sweep", "recipe.yaml"], ["amalgamate", "recipe.yaml"], ["plan", "recipe.yaml"], ["doctor", "recipe.yaml"])  # fmt: skip


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    case.stock.fill(folder)
    groups = [f"return {code}" for code in ANSWERS.values()], [*RAISES.values()], [*DISTURBS.values()], [f"return {code}" for code in CHANGES.values()]  # fmt: skip
    abouts = [about for group in (ANSWERS, RAISES, DISTURBS, CHANGES) for about in group]
    bodies = [body for group in groups for body in group]
    at = case.seed % len(bodies)
    when = draw.choice(("always", "always", "later", "at some texts", "once"))
    imports = (
        when == "always" and not bodies[at].startswith("return") and "texts" not in bodies[at] and draw.random() < 0.4
    )
    text = MODULE.replace("WHEN", WHENS[when]).replace(
        "ODD", "pass" if imports else bodies[at].replace("\n    ", "\n        ")
    )
    text = text.replace("AT_IMPORT", bodies[at].replace("\n    ", "\n") if imports else "")
    name = draw.choices(list(NAMES), list(NAMES.values()))[0]
    argv = draw.choice(COMMANDS)
    module = folder / "rules.py"
    module.write_text(text, encoding="utf-8")
    entry = {"python": name, "name": "rules", "labels": list(DELIVERY)}
    write_recipe(folder, MELT | {"teachers": ["billing", entry], "method": draw.choice(("alloy", "uhc"))})
    argv = [*argv, "--trust-python"]
    case.about = f"{argv[0]}, {'at import' if imports else when}: {abouts[at]}, python: {name[:60]!r}"
    more = {"environment": {"PYTHONPATH": str(folder)}}
    ended = case.run(step(folder, *argv, **more), code=True, network=argv[0] == "doctor")[0]
    if ended.code not in (0, 2, 130) or argv[0] in ("plan", "doctor"):
        return
    module.write_text(MODULE.replace("WHEN", "False").replace("ODD", "pass").replace("AT_IMPORT", ""), encoding="utf-8")
    write_recipe(folder, MELT | {"teachers": ["billing", entry | {"python": "rules:function"}], "method": "uhc"})
    if ended.code == 0:
        return  # it worked; other answers would be another teacher
    again = case.run(step(folder, *argv[:2], "--trust-python", "--overwrite", **more) if argv[0] == "amalgamate" else step(folder, *argv, **more), code=True)[0]  # fmt: skip
    known = "to answer as it did" in again.error or "identity" in again.error
    case.demand(
        again.code == 0 or known, "lost", f"with a good function it ended with {again.code}: {again.error[-300:]}"
    )


TABLE = Kind("functions", "Teachers that are Python functions: odd answers, errors, side effects and names", 240, make)
