"""alloykit distils fine-tuned text classifiers with different labels into one small student.

run = alloykit.amalgamate(teachers=["teachers/billing", "teachers/tech"], texts="tickets.csv",
                          student={"model": "bundled:minilm", "layers": 3}, output="runs/tickets")
run.predict("I was charged twice")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alloykit.commands.amalgamate import amalgamate as amalgamate
    from alloykit.commands.amalgamate_questions import amalgamate_questions as amalgamate_questions
    from alloykit.commands.distill import distill as distill
    from alloykit.commands.doctor import doctor as doctor
    from alloykit.commands.evaluate import evaluate as evaluate
    from alloykit.commands.export import export as export
    from alloykit.commands.generate import generate as generate
    from alloykit.commands.plan import plan as plan
    from alloykit.commands.plan_questions import plan_questions as plan_questions
    from alloykit.commands.predict import predict as predict
    from alloykit.commands.push import push as push
    from alloykit.commands.report import report as report
    from alloykit.commands.serve import serve as serve
    from alloykit.commands.suggest import suggest as suggest
    from alloykit.commands.sweep import sweep as sweep
    from alloykit.commands.teach import teach as teach
    from alloykit.commands.update import update as update
    from alloykit.commands.watch import watch as watch
    from alloykit.data import load_texts as load_texts
    from alloykit.errors import AlloyError as AlloyError
    from alloykit.errors import AlloyWarning as AlloyWarning
    from alloykit.finished_runs.run import Run as Run
    from alloykit.labels import LabelSpace as LabelSpace
    from alloykit.methods.protocol import Method as Method
    from alloykit.teachers.function_in_memory import Teacher as Teacher
    from alloykit.teachers.scikit_learn import from_sklearn as from_sklearn

__version__ = "0.1.0"

_HOMES = {
    "AlloyError": "errors",
    "AlloyWarning": "errors",
    "LabelSpace": "labels",
    "Method": "methods.protocol",
    "Run": "finished_runs.run",
    "Teacher": "teachers.function_in_memory",
    "amalgamate": "commands.amalgamate",
    "amalgamate_questions": "commands.amalgamate_questions",
    "distill": "commands.distill",
    "doctor": "commands.doctor",
    "evaluate": "commands.evaluate",
    "export": "commands.export",
    "from_sklearn": "teachers.scikit_learn",
    "generate": "commands.generate",
    "load_texts": "data",
    "plan": "commands.plan",
    "plan_questions": "commands.plan_questions",
    "predict": "commands.predict",
    "push": "commands.push",
    "report": "commands.report",
    "serve": "commands.serve",
    "suggest": "commands.suggest",
    "sweep": "commands.sweep",
    "teach": "commands.teach",
    "update": "commands.update",
    "watch": "commands.watch",
}
__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import alloykit` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'alloykit' has no attribute '{name}'")
    return getattr(import_module(f"alloykit.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names, also those that are not imported yet."""
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])
