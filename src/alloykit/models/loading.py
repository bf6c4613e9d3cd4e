"""The only place that loads models, tokenizers and configurations: safetensors only, and no code without the user's trust.

Everything is loaded from a checked copy of the model's folder (staged_folder.py). `trust_remote_code` is given in each call: without it,
transformers asks on standard input, and takes a piped text that begins with "y" as consent. A model whose code the user trusts is
loaded from its own folder.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.checked_config import MAX_LAYERS
from alloykit.models.dropout import set_dropout_rate
from alloykit.models.folder import GGUF, checked_weights, is_gguf
from alloykit.models.heads import is_pooled, load_pooled_head
from alloykit.models.loading_errors import loading_errors
from alloykit.models.location import ModelLocation, locate
from alloykit.models.quiet_loading import no_gguf_bar, no_questions, quiet_transformers
from alloykit.models.required_packages import require_gguf, require_sentencepiece
from alloykit.models.staged_folder import staged, staged_gguf
from alloykit.models.tokens import check_tokens, note_fewest_tokens, share_pad_token
from alloykit.models.trial import TRIAL_TEXTS, checked_pair
from alloykit.progress import library_bars_off

LAYER = re.compile(r"\.\d+\.")  # in the name of a weight of a numbered layer
SLACK = 50_000_000  # values that a model may have beyond twice those of its files, for new heads and computed tables
_SIZES: dict[tuple[str, type, str], int] = {}  # how many values a model has, by its head and its configuration


def load_config(spec: ModelSpec, *, weights: bool = True) -> tuple[Any, str | None]:
    """A model's configuration and, for a hub model, its commit. Loads no weights, but checks that they exist, if `weights`. AlloyError."""
    location = locate(spec, weights=False)
    with _opened(location) as opened:
        config = _config(opened)
    if weights and location.revision is None:
        checked_weights(location.folder, location.model)
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
    share_pad_token(config, tokenizer)
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
    return checked_pair(location, model, tokenizer, classes=config.num_labels)


def load_encoder(spec: ModelSpec, config: Any = None, *, head: bool = False) -> tuple[Any, Any]:
    """An encoder in float32 and its tokenizer. AlloyError.

    config: replaces the folder's configuration. head: add a classification head; one that the folder does not have is new."""
    location = locate(spec)
    with _opened(location) as opened:
        config = config if config is not None else _config(opened)
        model = _model(opened, config, "SequenceClassification" if head else "", whole="encoder" if head else "")
        tokenizer = _tokenizer(opened)
    return checked_pair(location, model, tokenizer, classes=config.num_labels if head else None)


def load_language_model(spec: ModelSpec) -> tuple[Any, Any]:
    """A causal language model in float32 and its tokenizer, from safetensors or from a GGUF file. AlloyError."""
    location = locate(spec)
    with _opened(location) as opened:
        model = _gguf_model(opened) if opened.gguf else _model(opened, _config(opened), "CausalLM", whole="model")
        tokenizer = _tokenizer(opened)
    model, tokenizer = checked_pair(location, model, tokenizer)
    with loading_errors(location), quiet_transformers(), torch.random.fork_rng():
        ids = torch.tensor([tokenizer(TRIAL_TEXTS[0]).input_ids])
        model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, max_new_tokens=2)
    return model, tokenizer


@dataclass(frozen=True)
class _Opened:
    """A model's folder while it is read."""

    location: ModelLocation
    folder: Path  # the checked copy, or the folder itself where the user trusts its code
    trusted: bool
    gguf: bool


@contextmanager
def _opened(location: ModelLocation) -> Iterator[_Opened]:
    """All parts of a model are read from one copy of its folder (staged_folder.py), which is checked once and is removed afterwards. AlloyError.

    Code that comes with a GGUF file is never run, trusted or not."""
    gguf = is_gguf(location.folder)
    trusted = location.trusted and not gguf
    if gguf:
        require_gguf(location.model)
        files: AbstractContextManager[Path] = staged_gguf(location.folder, location.model)
    else:
        files = nullcontext(location.folder) if trusted else staged(location.folder, location.model)
    with ExitStack() as stack:
        with loading_errors(location):
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
    if getattr(config, "attention_type", None) == "block_sparse":
        # BigBird changes to full attention at the first short text, and not back: its answer to a long text would depend on the texts before it.
        config.attention_type = "original_full"
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

    require_sentencepiece(opened.folder, opened.location.model)
    tokenizer = _from_pretrained(AutoTokenizer, opened)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise AlloyError(
            expected=f"a tokenizer beside the model '{opened.location.model}'",
            got="none with any word in it",
            hint="Save it there: `tokenizer.save_pretrained(folder)`.",
        )
    if not opened.gguf:
        note_fewest_tokens(_config(opened), tokenizer)
    return tokenizer


def _model(opened: _Opened, config: Any, head: str, *, whole: str) -> Any:
    """A model in float32. `head`: "SequenceClassification", "CausalLM" or none. `whole`: the part of which no weight may be missing."""
    kind, location = _auto_class(head), opened.location
    files = checked_weights(location.folder, location.model)
    if not location.trusted:
        _check_size(head, config, location, files)
    model, report = _from_pretrained(
        kind, opened, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True,
        ignore_mismatched_sizes=True,
    )  # fmt: skip
    model.config._name_or_path = location.model
    absent = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if whole == "model":
        _check_label_count(report["mismatched_keys"], config, location.model)
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


def _check_label_count(mismatched: Any, config: Any, model: str) -> None:
    """AlloyError if config.json names more or fewer labels than the head has. mismatched: (weight, its shape in the file, its shape by config.json)."""
    for _, stored, described in mismatched:
        if described[0] == config.num_labels != stored[0] and stored[1:] == described[1:]:
            raise AlloyError(
                expected=f"a name for each of the {stored[0]:,} labels that the classification head of '{model}' has",
                got=f"{config.num_labels:,} by its config.json",
                hint="Correct `id2label` there, or save the weights that belong to these names.",
            )


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

    with loading_errors(opened.location, opened.folder):
        reader = GGUFReader(opened.folder / f"model{GGUF}")
        stored = sum(int(tensor.n_elements) for tensor in reader.tensors)
        del reader  # it holds the file open
    _compare_sizes("CausalLM", config, opened.location, stored)


def _from_pretrained(kind: Any, opened: _Opened, **more: Any) -> Any:
    """The only call of `from_pretrained`."""
    folder, trusted = str(opened.folder), opened.trusted
    if opened.gguf:
        more |= {"gguf_file": f"model{GGUF}"}
    quiet = (library_bars_off(), no_gguf_bar(), quiet_transformers(), no_questions())
    with loading_errors(opened.location, opened.folder), ExitStack() as stack:
        for context in quiet:
            stack.enter_context(context)
        loaded = kind.from_pretrained(folder, trust_remote_code=trusted, local_files_only=not trusted, **more)
        _restore_names(loaded, folder, opened.location)
    return loaded


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


def _check_size(head: str, config: Any, location: ModelLocation, files: Sequence[Path]) -> None:
    """AlloyError for a configuration of a much larger model than its weights: it would fill the memory."""
    import safetensors

    stored = 0
    for file in files:
        with safetensors.safe_open(file, framework="pt") as tensors:
            stored += sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118
    _compare_sizes(head, config, location, stored)


def _compare_sizes(head: str, config: Any, location: ModelLocation, stored: int) -> None:
    """AlloyError if a configuration describes a much larger model than `stored` values."""
    with loading_errors(location):
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
    with loading_errors(location), quiet_transformers(), torch.random.fork_rng(), torch.device("meta"):
        return _auto_class(head).from_config(copy.deepcopy(config), trust_remote_code=False)


def _auto_class(head: str) -> Any:
    import transformers

    return getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
