"""ONNX classifiers as teachers: folders that `alloykit export`, optimum or others wrote. onnxruntime computes them on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec, PathText
from alloykit.digests import digest, known_sha256
from alloykit.errors import AlloyError
from alloykit.methods.inputs import Gives
from alloykit.models.export import ONE_LENGTH
from alloykit.models.folder import is_inside, loadable_files
from alloykit.models.forward import Advance, Budget, forward_texts
from alloykit.models.loading import load_config, load_skeleton, load_tokenizer
from alloykit.models.onnx_file import onnx_files
from alloykit.models.onnx_session import onnx_package, onnx_session
from alloykit.models.problem_type import is_multi_label
from alloykit.models.tokens import encode, most_tokens, pad, usable_length
from alloykit.models.trial import TRIAL_TEXTS
from alloykit.names import quoted
from alloykit.paths import user_path
from alloykit.teachers.config_labels import labels_of_config
from alloykit.teachers.protocol import Answerer, Outputs, Reading, TeacherInfo, TeacherSpec

GRAPHS = ("onnx/model.onnx", "model.onnx")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
TRIAL_SECONDS = 60.0
NUMBERS = {"tensor(int64)": torch.int64, "tensor(int32)": torch.int32}


class OnnxSpec(TeacherSpec):
    """A sequence classifier as an ONNX graph, with its config.json and its tokenizer."""

    key: ClassVar[str] = "onnx"

    onnx: PathText
    """The folder. Its graph is onnx/model.onnx or model.onnx, and gives logits."""
    file: PathText | None = None
    """The graph's path inside the folder, if it is another one, such as onnx/model_quantized.onnx."""
    labels: dict[str, str] | None = None
    """Real names for anonymous labels, {LABEL_0: bug}."""

    @property
    def model_name(self) -> str | None:
        return self.onnx

    @property
    def folder(self) -> Path:
        return user_path(self.onnx)

    def describe(self, name: str) -> OnnxInfo:
        if not self.folder.is_dir():
            raise AlloyError(
                expected=f"a folder with an ONNX classifier for teacher '{name}'",
                got=f"'{self.onnx}', which is " + ("a file" if self.folder.exists() else "not there"),
                hint=f"Name the folder: '{self.folder.parent}'." if self.folder.exists() else "Check the path.",
            )
        onnx_package("onnxruntime")
        files = onnx_files(self._graph(name), self.folder)
        config, _ = load_config(ModelSpec(model=str(self.folder)), weights=False)
        return OnnxInfo(name, self, labels_of_config(config, self.labels or {}, name), config, files)

    def _graph(self, name: str) -> Path:
        wanted = [self.file] if self.file else GRAPHS
        found = next((self.folder / each for each in wanted if (self.folder / each).is_file()), None)
        if found is None:
            others = sorted(str(p.relative_to(self.folder)) for p in self.folder.glob("**/*.onnx"))
            raise AlloyError(
                expected=f"the graph {' or '.join(wanted)} in '{self.onnx}' for teacher '{name}'",
                got=quoted(others) or "no ONNX file",
                hint="Name the graph: `file: onnx/model_quantized.onnx`." if others else "Export the model to ONNX.",
            )
        if not is_inside(found, self.folder):
            raise AlloyError(
                expected=f"a graph inside the folder '{self.onnx}' for teacher '{name}'",
                got=f"'{found.relative_to(self.folder)}', which leads out of it",
                hint="Copy the file into the folder if you trust it.",
            )
        return found


@dataclass(frozen=True)
class OnnxInfo(TeacherInfo):
    """What is known of a graph before it is loaded. `config`: the model's configuration. `files`: the graph, and its external data."""

    spec: OnnxSpec
    config: Any
    files: tuple[Path, ...]

    @property
    def gives(self) -> Gives:
        return Gives(logits=True, multi_label=is_multi_label(self.config))

    @property
    def model_spec(self) -> ModelSpec:
        """The folder, for what transformers reads from it: configuration and tokenizer."""
        return ModelSpec(model=str(self.spec.folder))

    @property
    def most_tokens(self) -> int | None:
        return most_tokens(self.config, self.load_tokenizer())

    def load_tokenizer(self) -> Any:
        return load_tokenizer(self.model_spec)

    def identity(self) -> str:
        others = [p for p in loadable_files(self.spec.folder) if p.suffix != ".safetensors" and p not in self.files]
        return digest([*map(known_sha256, self.files), *([p.name, known_sha256(p)] for p in others)])

    def load(self, reading: Reading) -> OnnxTeacher:
        return OnnxTeacher(self, reading)


class OnnxTeacher(Answerer):
    """A graph in onnxruntime, with its tokenizer."""

    def __init__(self, info: OnnxInfo, reading: Reading) -> None:
        """AlloyError for a graph that does not fit its configuration: other inputs, another number of labels, batches of one size only."""
        self.info: OnnxInfo = info
        self.skeleton, self.tokenizer = load_skeleton(info.model_spec)
        self.max_length = usable_length(self.skeleton, self.tokenizer, reading.max_length)
        self.budget, self.name = Budget(reading.tokens_per_batch), f"teacher '{info.name}'"
        self.one_length = getattr(info.config, ONE_LENGTH, None) is True
        self.session = onnx_session(info.files[0], hint="Copy or export it again.")
        self.inputs = {each.name: NUMBERS.get(each.type, torch.int64) for each in self.session.get_inputs()}
        if unknown := [each for each in self.inputs if each not in INPUTS]:
            raise AlloyError(
                expected=f"a graph with the inputs {quoted(INPUTS)}, or some of them, for {self.name}",
                got=quoted(unknown),
                hint="Export the model as a text classifier, without caches or position ids.",
            )
        outputs = [each.name for each in self.session.get_outputs()]
        if "logits" not in outputs and len(outputs) != 1:
            raise AlloyError(expected=f"an output `logits` of the graph of {self.name}", got=quoted(outputs))
        self.output = "logits" if "logits" in outputs else outputs[0]
        shown = self._tried()
        if shown.shape != (len(TRIAL_TEXTS), len(info.labels)) or not bool(shown.isfinite().all()):
            raise AlloyError(
                expected=f"{len(info.labels)} finite numbers for each text, one for each label of config.json, from {self.name}",
                got=f"numbers of shape {list(shown.shape)} for {len(TRIAL_TEXTS)} texts"
                + ("" if bool(shown.isfinite().all()) else ", with NaN or infinity"),
                hint="Check that graph and config.json belong together.",
            )

    def _tried(self) -> Tensor:
        """The logits of the trial texts. AlloyError if they need too much memory or time, as a graph with an endless loop does."""
        options = onnx_package("onnxruntime").RunOptions()
        options.log_severity_level = 4
        timer = threading.Timer(TRIAL_SECONDS, setattr, (options, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            return self.run(pad(self.tokenizer, encode(self.tokenizer, TRIAL_TEXTS, None, self.max_length)), options)
        except MemoryError as error:
            raise AlloyError(
                expected=f"a graph that reads two short texts in the memory of this machine, for {self.name}",
                got=f"'{str(error).strip()[:300]}'",
                hint="Check that the graph is a text classifier.",
            ) from error
        except AlloyError as error:
            if options.terminate:
                raise AlloyError(
                    expected=f"a graph that reads two short texts in {TRIAL_SECONDS:g} seconds, for {self.name}",
                    got="one that needs longer",
                    hint="Check that the graph is a text classifier.",
                ) from error
            raise
        finally:
            timer.cancel()

    @property
    def made_of(self) -> dict[str, Any]:
        return super().made_of | {"max_length": self.max_length}

    @property
    def about(self) -> dict[str, Any]:
        return {"tokens_per_batch": self.budget.tokens}

    def prepare(self, texts: Sequence[str], pairs: Sequence[str | None] | None = None) -> list[dict[str, list[int]]]:
        return encode(self.tokenizer, texts, pairs, self.max_length)

    def answer(self, prepared: Sequence[Any], advance: Advance, layers: Sequence[int] = ()) -> Outputs:
        found = forward_texts(
            lambda batch: self.run(batch)[None], prepared, self.skeleton, self.tokenizer, device=torch.device("cpu"),
            width=len(self.info.labels), budget=self.budget, name=self.name, one_length=self.one_length, advance=advance,
        )  # fmt: skip
        return Outputs(found[0])

    def run(self, batch: dict[str, Tensor], options: Any = None) -> Tensor:
        """The graph's logits for a padded batch of int64 [B, L] tensors, [B, C] float32. Only its own inputs are fed; token types that the
        tokenizer does not give are 0."""
        ids = batch["input_ids"]
        given = {
            k: (batch[k] if k in batch else torch.zeros_like(ids)).to(kind).numpy() for k, kind in self.inputs.items()
        }
        try:
            return torch.from_numpy(self.session.run([self.output], given, options)[0]).float()
        except Exception as error:  # onnxruntime raises kinds of its own
            if "allocate" in str(error).lower():
                raise MemoryError(str(error)) from error
            raise AlloyError(
                expected=f"a graph that reads {ids.shape[0]} texts of {ids.shape[1]} tokens, for {self.name}",
                got=f"'{str(error).strip()[:300]}'",
                hint="Export the model with dynamic axes for the batch and the length.",
            ) from error
