"""Classifiers of scikit-learn: skops files, and pipelines in memory. Pickles are never read."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from alloykit.blocks import PathText
from alloykit.digests import digest, file_sha256
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.names import quoted, refuse_single, rename, shown
from alloykit.paths import user_path
from alloykit.teachers.function import FunctionInfo
from alloykit.teachers.function_in_memory import Teacher
from alloykit.teachers.protocol import TeacherSpec
from alloykit.teachers.trust import require_trust

MAX_UNPACKED, MAX_RATIO = 256 << 20, 20  # bytes; times the size of the file, which skops does not compress by default


class SklearnSpec(TeacherSpec):
    """A scikit-learn classifier of texts in a file that `skops.io.dump` wrote."""

    key: ClassVar[str] = "sklearn"

    sklearn: PathText
    """The file. Its classifier needs `predict_proba`, and takes a list of texts: a pipeline that begins with a vectorizer."""
    labels: dict[str, str] | None = None
    """Real names for its classes, {'0': bug}."""
    trusted: list[str] = Field(default_factory=list)
    """Types that the file may load beside those that skops trusts. Loading them runs code, so it needs `--trust-python`."""

    def describe(self, name: str) -> SklearnInfo:
        if self.trusted:
            require_trust(f"`trusted: {self.trusted}`", name)
        path = user_path(self.sklearn)
        model = _loaded(path, self.trusted, name)
        labels = rename(classes_of(model, name), self.labels or {}, name)
        return SklearnInfo(name, self, labels, model.predict_proba, digest([file_sha256(path), labels]))


@dataclass(frozen=True)
class SklearnInfo(FunctionInfo):
    """What is known of a file of skops. The file is hashed, so the classifier needs no probe."""

    probed: ClassVar[bool] = False

    @property
    def gives(self) -> Gives:
        return Gives()


def from_sklearn(
    model: Any,
    labels: Sequence[str] | Mapping[str, str] | None = None,
    name: str | None = None,
    version: str = "",
) -> Teacher:
    """A fitted classifier of scikit-learn's kind as a teacher, for `amalgamate(teachers=[…])`.

    model: has `predict_proba`, which takes a list of texts, and `classes_` (or `labels`, as SetFit has): a pipeline that begins with a
    vectorizer. labels: names of the classes in their order, or a dictionary class → name; the classes themselves if not given. name,
    version: as in `alloykit.Teacher`. AlloyError for a model that cannot be a teacher, and for labels that are not those of its classes.
    """
    refuse_single(labels, "labels")
    called = name or type(model).__name__.lower()
    classes = classes_of(model, called)
    if labels is None or isinstance(labels, Mapping):
        found = rename(classes, labels or {}, called)
    else:
        found = tuple(labels)
        if len(found) != len(classes):
            raise AlloyError(
                expected=f"{len(classes)} labels for the classes {quoted(classes)}",
                got=f"{len(found)}: {quoted(found)}",
            )
    return Teacher(model.predict_proba, found, called, version, kind="scikit-learn model")


def classes_of(model: Any, name: str) -> tuple[str, ...]:
    """The classes of a fitted classifier, in the order of its probabilities. AlloyError."""
    classes = getattr(model, "classes_", None)
    classes = getattr(model, "labels", None) if classes is None else classes
    if classes is None:  # SetFit, whose labels nobody has named
        classes = getattr(getattr(model, "model_head", None), "classes_", None)
    if not hasattr(model, "predict_proba") or classes is None:
        raise AlloyError(
            expected=f"a fitted classifier with `predict_proba` and `classes_` as teacher '{name}'",
            got=f"a {type(model).__name__}",
            hint="Name the labels of a SetFit model: `labels=[…]`."
            if hasattr(model, "model_head")
            else "A classifier without probabilities gets them from sklearn.calibration.CalibratedClassifierCV.",
        )
    try:
        return tuple(str(label) for label in classes)
    except TypeError:
        raise AlloyError(expected=f"a list of classes as `classes_` of teacher '{name}'", got=shown(classes)) from None


def _check_size(path: Path, name: str) -> None:
    """AlloyError for a file that would unpack to far more than its size. skops refuses files that are no zip files."""
    try:
        if not path.is_file():
            raise OSError("no such file" if not path.exists() else "no file")
        with zipfile.ZipFile(path) as file:
            unpacked = sum(part.file_size for part in file.infolist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise _no_skops_file(path, name, error) from error
    if unpacked > MAX_UNPACKED and unpacked > MAX_RATIO * path.stat().st_size:
        raise _no_skops_file(path, name, ValueError(f"it unpacks to {unpacked:,} bytes"))


def _no_skops_file(path: Path, name: str, error: Exception) -> AlloyError:
    return AlloyError(
        expected=f"a file that skops.io.dump wrote, for teacher '{name}'",
        got=f"'{path}' ({type(error).__name__}: {str(error)[:300]})",
        hint="Write it again: `skops.io.dump(pipeline, 'teacher.skops')`. Pickles are not read, because they can run code.",
    )


def _loaded(path: Path, trusted: Sequence[str], name: str) -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise AlloyError(
            expected="the package skops, which reads the files of scikit-learn models safely",
            got="it is not installed",
            hint="Run: pip install 'alloykit[skops]'",
        ) from error
    _check_size(path, name)
    try:
        unknown = [t for t in skops.io.get_untrusted_types(file=path) if t not in trusted]
        if unknown:
            raise AlloyError(
                expected=f"only types that skops trusts in '{path}'",
                got=quoted(unknown),
                hint=f"If you trust them, write `trusted: [{', '.join(unknown)}]` in the entry of teacher '{name}'.",
            )
        return skops.io.load(path, trusted=list(trusted))
    except AlloyError:
        raise
    except Exception as error:  # the file is foreign, and its parts raise many kinds of errors
        raise _no_skops_file(path, name, error) from error
