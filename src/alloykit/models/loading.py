"""The only place that loads models, tokenizers and configurations: safetensors only, and no code without the user's trust.

Everything is loaded from a checked copy of the model's folder (folder.py). `trust_remote_code` is given in each call: without it,
transformers asks on standard input, and takes a piped text that begins with "y" as consent. A model whose code the user trusts is
loaded from its own folder.
"""

from __future__ import annotations

import copy
import importlib.util
import logging
import math
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.dropout import set_dropout_rate
from alloykit.models.folder import GGUF, MAX_LAYERS, check_weights, is_gguf, needs_code, staged, staged_gguf
from alloykit.models.heads import is_pooled, load_pooled_head
from alloykit.models.location import ModelLocation, locate
from alloykit.models.token_states import text_part
from alloykit.models.tokens import check_tokens, encode, pad, usable_length
from alloykit.out_of_memory import is_out_of_memory
from alloykit.progress import library_bars_off

TRIAL_TEXTS = ["a", "a text to try: 1, 2, 3"]  # every model reads these once when it is loaded
LAYER = re.compile(r"\.\d+\.")  # in the name of a weight of a numbered layer
SLACK = 50_000_000  # values that a model may have beyond twice those of its files, for new heads and computed tables
_SIZES: dict[tuple[str, type, str], int] = {}  # how many values a model has, by its head and its configuration


def load_config(spec: ModelSpec, *, weights: bool = True) -> tuple[Any, str | None]:
    """A model's configuration and, for a hub model, its commit. Loads no weights, but checks that they exist, if `weights`. AlloyError."""
    location = locate(spec, weights=False)
    with _opened(location) as opened:
        config = _config(opened)
    if weights and location.revision is None:
        check_weights(location.folder, location.model)
    return config, location.revision or spec.revision


def load_tokenizer(spec: ModelSpec) -> Any:
    """A model's own tokenizer. AlloyError if there is none: transformers would create one without a vocabulary."""
    with _opened(locate(spec, weights=False)) as opened:
        return _tokenizer(opened)


def load_skeleton(spec: ModelSpec) -> tuple[Any, Any]:
    """A classifier without memory for its weights (on torch's device "meta"), and its tokenizer: for a model whose weights have another format.

    AlloyError if the tokenizer has tokens that the model does not know."""
    location = locate(spec, weights=False)
    with _opened(location) as opened:
        config, tokenizer = _config(opened), _tokenizer(opened)
    _share_pad_token(config, tokenizer)
    model = _meta_model("SequenceClassification", config, location)
    added = tokenizer.get_added_vocab()
    check_tokens([i for token, i in tokenizer.get_vocab().items() if token not in added], model, location.model)
    return model, tokenizer


def load_classifier(spec: ModelSpec, *, dropout: float | None = None) -> tuple[Any, Any]:
    """A classifier in float32, with any head, and its tokenizer. `dropout` sets every dropout rate before the model is built.
    AlloyError if a weight is missing, or if model and tokenizer do not fit each other."""
    location = locate(spec)
    with _opened(location) as opened:
        config = _config(opened)
        if dropout is not None:
            set_dropout_rate(config, dropout)
        if is_pooled(config):
            model = load_pooled_head(_model(opened, config, "SequenceClassification", whole="encoder"), location.folder)
        else:
            model = _model(opened, config, "SequenceClassification", whole="model")
        tokenizer = _tokenizer(opened)
    return _checked_pair(location, model, tokenizer, classes=config.num_labels)


def load_encoder(spec: ModelSpec, config: Any = None, *, head: bool = False) -> tuple[Any, Any]:
    """An encoder in float32 and its tokenizer. AlloyError.

    config: replaces the folder's configuration. head: add a classification head; one that the folder does not have is new."""
    location = locate(spec)
    with _opened(location) as opened:
        config = config if config is not None else _config(opened)
        model = _model(opened, config, "SequenceClassification" if head else "", whole="encoder" if head else "")
        tokenizer = _tokenizer(opened)
    return _checked_pair(location, model, tokenizer, classes=config.num_labels if head else None)


def load_language_model(spec: ModelSpec) -> tuple[Any, Any]:
    """A causal language model in float32 and its tokenizer, from safetensors or from a GGUF file. AlloyError."""
    location = locate(spec)
    with _opened(location) as opened:
        model = _gguf_model(opened) if opened.gguf else _model(opened, _config(opened), "CausalLM", whole="model")
        tokenizer = _tokenizer(opened)
    model, tokenizer = _checked_pair(location, model, tokenizer)
    with _loading_errors(location), _quiet_transformers(), torch.random.fork_rng():
        ids = torch.tensor([tokenizer(TRIAL_TEXTS[0]).input_ids])
        model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, max_new_tokens=2)
    return model, tokenizer


def loading_error(error: BaseException, location: ModelLocation) -> AlloyError:
    """The error for a model that could not be loaded, in the user's terms."""
    if is_out_of_memory(error):
        return AlloyError(
            expected=f"memory for the model '{location.model}'",
            got="too little",
            hint="Free some memory, take a smaller model, or check the sizes in its config.json.",
        )
    text = str(error)
    if "trust_remote_code" in text or "custom code" in text:
        return needs_code(location.model)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    missing = isinstance(error, ImportError)
    return AlloyError(
        expected="a model folder (config.json, model.safetensors, tokenizer files)" if not missing else
        f"the packages that '{location.model}' needs",
        got=f"'{location.model}' ({first[:200]})",
        hint="Install what is missing." if missing else
        "Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
    )  # fmt: skip


@contextmanager
def _loading_errors(location: ModelLocation, folder: Path | None = None) -> Iterator[None]:
    """Any error inside becomes an AlloyError: the files are foreign, and the libraries that read them raise many kinds of errors.

    folder: where the files are read, which messages replace by the model's name.
    """
    try:
        yield
    except AlloyError:
        raise
    except BaseException as error:
        # Raised by the Rust code of tokenizers; it is not a Python Exception.
        panicked = type(error).__name__ == "PanicException"
        if not isinstance(error, Exception) and not panicked:
            raise
        problem = loading_error(error, location)
        if folder is not None:
            problem = AlloyError(
                expected=problem.expected, got=problem.got.replace(str(folder), location.model), hint=problem.hint
            )
        raise problem from error


@dataclass(frozen=True)
class _Opened:
    """A model's folder while it is read."""

    location: ModelLocation
    folder: Path  # the checked copy, or the folder itself where the user trusts its code
    trusted: bool
    gguf: bool


@contextmanager
def _opened(location: ModelLocation) -> Iterator[_Opened]:
    """All parts of a model are read from one copy of its folder (folder.py), which is checked once and is removed afterwards. AlloyError.

    Code that comes with a GGUF file is never run, trusted or not."""
    gguf = is_gguf(location.folder)
    trusted = location.trusted and not gguf
    if gguf:
        _require_gguf(location)
        files: AbstractContextManager[Path] = staged_gguf(location.folder, location.model)
    else:
        files = nullcontext(location.folder) if trusted else staged(location.folder, location.model)
    with ExitStack() as stack:
        with _loading_errors(location):
            folder = stack.enter_context(files)
        yield _Opened(location, folder, trusted, gguf)


def _config(opened: _Opened) -> Any:
    from transformers import AutoConfig

    location = opened.location
    config = _from_pretrained(AutoConfig, opened)
    config._name_or_path = location.model
    if getattr(config, "chunk_size_feed_forward", 0):
        # Chunks save memory, but fail for texts whose length is not a multiple of the chunk's.
        config.chunk_size_feed_forward = 0
    depth = getattr(config, "num_hidden_layers", None)
    if depth is not None and (not isinstance(depth, int) or not 1 <= depth <= MAX_LAYERS):
        raise AlloyError(
            expected=f"a model with 1 to {MAX_LAYERS:,} layers in '{location.model}'",
            got=f"{depth!r} of them by its configuration",
            hint="Check the sizes in config.json.",
        )
    return config


def _tokenizer(opened: _Opened) -> Any:
    from transformers import AutoTokenizer

    _require_sentencepiece(opened)
    tokenizer = _from_pretrained(AutoTokenizer, opened)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise AlloyError(
            expected=f"a tokenizer beside the model '{opened.location.model}'",
            got="none with any word in it",
            hint="Save it there: `tokenizer.save_pretrained(folder)`.",
        )
    return tokenizer


def _model(opened: _Opened, config: Any, head: str, *, whole: str) -> Any:
    """A model in float32. `head`: "SequenceClassification", "CausalLM" or none. `whole`: the part of which no weight may be missing."""
    kind, location = _auto_class(head), opened.location
    check_weights(location.folder, location.model)
    if not location.trusted:
        _check_size(head, config, location)
    model, report = _from_pretrained(
        kind, opened, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True,
        ignore_mismatched_sizes=True,
    )  # fmt: skip
    model.config._name_or_path = location.model
    absent = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if whole == "encoder":
        inner = f"{model.base_model_prefix}."
        absent = [key for key in absent if key.startswith(inner) and ".pooler." not in key]
    if whole and absent:
        raise AlloyError(
            expected=f"weights for the whole of '{location.model}'"
            + (", its classification head included" if whole == "model" else ""),
            got=f"none that fit for {', '.join(absent[:3])}",
            hint="Its answers would be random. Fine-tune it first, for instance with `alloykit teach`."
            if whole == "model"
            else "Copy the whole folder again.",
        )
    if whole == "model" and (unused := sorted(key for key in report["unexpected_keys"] if LAYER.search(key))):
        raise AlloyError(
            expected=f"a config.json of '{location.model}' with all layers of its weights",
            got=f"none for {', '.join(unused[:3])}",
            hint="Check `num_hidden_layers` in config.json: without these layers it gives other answers.",
        )
    return model.eval()


def _gguf_model(opened: _Opened) -> Any:
    """A causal language model in float32 from a GGUF file, whose weights may be quantized there. AlloyError."""
    location = opened.location
    _check_gguf_size(opened, _config(opened))
    model, report = _from_pretrained(_auto_class("CausalLM"), opened, dtype=torch.float32, output_loading_info=True)
    model.config._name_or_path = location.model
    absent = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if absent:
        raise AlloyError(
            expected=f"weights for the whole of '{location.model}'",
            got=f"none that fit for {', '.join(absent[:3])}",
            hint="Copy the GGUF file again, or take the model's safetensors.",
        )
    return model.eval()


def _check_gguf_size(opened: _Opened, config: Any) -> None:
    """AlloyError for a GGUF file that describes a much larger model than its weights: it would fill the memory."""
    from gguf import GGUFReader

    with _loading_errors(opened.location, opened.folder):
        reader = GGUFReader(opened.folder / f"model{GGUF}")
        stored = sum(int(tensor.n_elements) for tensor in reader.tensors)
        del reader  # it holds the file open
    _compare_sizes("CausalLM", config, opened.location, stored)


def _from_pretrained(kind: Any, opened: _Opened, **more: Any) -> Any:
    """The only call of `from_pretrained`."""
    folder, trusted = str(opened.folder), opened.trusted
    if opened.gguf:
        more |= {"gguf_file": f"model{GGUF}"}
    quiet = (library_bars_off(), _no_gguf_bar(), _quiet_transformers(), _no_questions())
    with _loading_errors(opened.location, opened.folder), ExitStack() as stack:
        for context in quiet:
            stack.enter_context(context)
        loaded = kind.from_pretrained(folder, trust_remote_code=trusted, local_files_only=not trusted, **more)
        _restore_names(loaded, folder, opened.location)
    return loaded


def _require_gguf(location: ModelLocation) -> None:
    """AlloyError if the package that reads GGUF files is not installed."""
    if importlib.util.find_spec("gguf") is None:
        raise AlloyError(
            expected=f"the package gguf, which reads '{location.model}'",
            got="it is not installed",
            hint="Run: pip install 'alloykit[gguf]'",
        )


def _require_sentencepiece(opened: _Opened) -> None:
    """AlloyError if the tokenizer has a file of SentencePiece alone, as DeBERTa-v3 on the hub has, and a package that reads it is not installed."""
    found = sorted(file.name for file in opened.folder.glob("*.model")) + sorted(
        f.name for f in opened.folder.glob("*.spm")
    )
    if not found or (opened.folder / "tokenizer.json").exists():
        return
    try:
        absent = [name for name in ("sentencepiece", "google.protobuf") if importlib.util.find_spec(name) is None]
    except ModuleNotFoundError:  # not even a package `google`
        absent = ["google.protobuf"]
    if absent:
        raise AlloyError(
            expected=f"the packages sentencepiece and protobuf, which read {found[0]} of '{opened.location.model}'",
            got="they are not installed",
            hint="Run: pip install 'alloykit[sentencepiece]'",
        )


def _restore_names(loaded: Any, copied: str, location: ModelLocation) -> None:
    """Replace the name of the temporary copy by the model's own name in what was loaded."""
    model = loaded[0] if isinstance(loaded, tuple) else loaded
    modules: list[Any] = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    for module in modules:
        if hasattr(module, "name_or_path"):
            module.name_or_path = location.model
    if hasattr(loaded, "init_kwargs"):  # a tokenizer
        for key in ("is_local", "local_files_only"):  # arguments of this call, which would be saved with the tokenizer
            loaded.init_kwargs.pop(key, None)
        for values in (vars(loaded), loaded.init_kwargs):
            for key, value in values.items():
                if isinstance(value, str) and value.startswith(copied):
                    values[key] = value.replace(copied, str(location.folder), 1)


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Silence transformers' warnings about new heads and skipped weights: those that matter become errors of ours."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _no_gguf_bar() -> Iterator[None]:
    """transformers shows no progress bar while it reads a GGUF file. This bar does not follow transformers' own switch."""
    from transformers import modeling_gguf_pytorch_utils as module

    shown = module.tqdm
    module.tqdm = partial(shown, disable=True)
    try:
        yield
    finally:
        module.tqdm = shown


@contextmanager
def _no_questions() -> Iterator[None]:
    """transformers asks no question on standard input: with a time limit of 0 it fails at once."""
    from transformers import dynamic_module_utils

    timeout = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = timeout


def _check_size(head: str, config: Any, location: ModelLocation) -> None:
    """AlloyError for a configuration of a much larger model than its weights: it would fill the memory."""
    import safetensors

    stored = 0
    for file in location.folder.glob("*.safetensors"):
        with safetensors.safe_open(file, framework="pt") as tensors:
            stored += sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118
    _compare_sizes(head, config, location, stored)


def _compare_sizes(head: str, config: Any, location: ModelLocation, stored: int) -> None:
    """AlloyError if a configuration describes a much larger model than `stored` values."""
    with _loading_errors(location):
        described = (head, type(config), config.to_json_string(use_diff=False))
    if described not in _SIZES:  # a run loads the same model several times
        model = _meta_model(head, config, location)
        _SIZES[described] = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    needed = _SIZES[described]
    if needed > 2 * stored + SLACK:
        raise AlloyError(
            expected=f"weights for the whole of '{location.model}', which has {needed:,} by its config.json",
            got=f"{stored:,}",
            hint="Check the sizes in config.json, and that no weight file is missing.",
        )


def _meta_model(head: str, config: Any, location: ModelLocation) -> Any:
    """The model on the device "meta", without memory for its values."""
    with _loading_errors(location), _quiet_transformers(), torch.random.fork_rng(), torch.device("meta"):
        return _auto_class(head).from_config(copy.deepcopy(config), trust_remote_code=False)


def _auto_class(head: str) -> Any:
    import transformers

    return getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")


@torch.no_grad()
def _checked_pair(location: ModelLocation, model: Any, tokenizer: Any, classes: int | None = None) -> tuple[Any, Any]:
    """Model and tokenizer, after the model has read two short texts: a misfit shows here and not in the middle of the work.

    AlloyError for weights or outputs that are not finite.
    """
    _check_finite(model.named_parameters(), location, "weights")
    with _loading_errors(location), _quiet_transformers(), torch.random.fork_rng():
        added = tokenizer.get_added_vocab()  # often a few more than the model knows; they are never used
        check_tokens([i for token, i in tokenizer.get_vocab().items() if token not in added], model, location.model)
        _share_pad_token(model.config, tokenizer)
        can_pad, can_generate = tokenizer.pad_token_id is not None, getattr(model, "can_generate", lambda: False)()
        if not can_pad and not can_generate:
            raise AlloyError(
                expected=f"a token to pad with in the tokenizer of '{location.model}'",
                got="none",
                hint="Name the one it was trained with: `pad_token` in tokenizer_config.json, or `pad_token_id` in config.json.",
            )
        encodings = encode(tokenizer, TRIAL_TEXTS, None, usable_length(model, tokenizer, 32))
        for each in [encodings] if can_pad else [[one] for one in encodings]:
            batch = pad(tokenizer, each)
            check_tokens(batch["input_ids"].flatten().tolist(), model, location.model)
            outputs = model(**batch)
            if classes is not None and outputs.logits.shape != (len(each), classes):
                raise ValueError(f"{list(outputs.logits.shape)} numbers for {len(each)} texts and {classes} labels")
            states = outputs[0]
            output = states[batch["attention_mask"].bool()] if states.dim() == 3 else states  # without padding
            _check_finite([("the output for a short text", output)], location, "output")
    return model, tokenizer


def _share_pad_token(config: Any, tokenizer: Any) -> None:
    """If only the configuration or only the tokenizer names a token to pad with, the other gets it. GPT-2 and Llama come without one, and who fine-tunes
    them often sets it in one place."""
    config = text_part(config)
    of_config, of_tokenizer = getattr(config, "pad_token_id", None), tokenizer.pad_token_id
    if of_tokenizer is None and isinstance(of_config, int) and 0 <= of_config < len(tokenizer):
        tokenizer.pad_token = tokenizer.convert_ids_to_tokens(of_config)
    elif of_tokenizer is not None and of_config is None:
        config.pad_token_id = of_tokenizer


def _check_finite(tensors: Iterable[tuple[str, torch.Tensor]], location: ModelLocation, what: str) -> None:
    """AlloyError if a tensor holds NaN or infinity. tensors: (name, tensor); they are not copied."""
    for name, tensor in tensors:
        if tensor.numel() and not all(bool(end.isfinite()) for end in torch.aminmax(tensor.detach())):
            raise AlloyError(
                expected=f"finite {what} of '{location.model}'",
                got=f"NaN or infinity in {name}",
                hint="The file is damaged, or the model's training diverged: copy it again, or train it again.",
            )
