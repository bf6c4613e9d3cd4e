"""The one place where models, tokenizers and their configurations are loaded: safetensors only, and no code without trust.

Everything comes from a checked copy of the model's folder (folder.py), with `trust_remote_code` given each time: where it is
not, transformers asks on standard input, and a piped text that begins with "y" is consent. A model whose code the user trusts is
loaded from its own folder.
"""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.dropout import set_dropout_rate
from alloykit.models.folder import check_weights, needs_code, staged
from alloykit.models.heads import is_pooled, with_head
from alloykit.models.location import Source, locate
from alloykit.models.tokens import check_tokens, encode, pad, usable_length
from alloykit.out_of_memory import is_out_of_memory
from alloykit.progress import library_bars_off

TRIED = ["a", "a text to try: 1, 2, 3"]  # what every model reads once when it is loaded
LAYER = re.compile(r"\.\d+\.")  # in the name of a weight: it belongs to a numbered layer
SLACK = 50_000_000  # values that a model may have beyond twice those of its files: new heads, tables that are computed


def load_config(spec: ModelSpec) -> tuple[Any, str | None]:
    """A model's configuration and, of a model of the hub, its commit. Loads no weights, but looks whether they are there. AlloyError."""
    source = locate(spec, weights=False)
    config = _config(source)
    if source.revision is None:
        check_weights(source.folder, source.model)
    return config, source.revision or spec.revision


def load_tokenizer(spec: ModelSpec) -> Any:
    """A model's own tokenizer. AlloyError where there is none: transformers would make one up that knows no words."""
    return _tokenizer(locate(spec, weights=False))


def load_classifier(spec: ModelSpec, *, dropout: float | None = None) -> tuple[Any, Any]:
    """A whole classifier in float32, whatever its head, and its tokenizer. `dropout` sets every dropout rate before the model is
    built. AlloyError if any of its weights is missing, or if the two do not fit each other."""
    source = locate(spec)
    config = _config(source)
    if dropout is not None:
        set_dropout_rate(config, dropout)
    if is_pooled(config):
        model = with_head(_model(source, config, "SequenceClassification", whole="encoder"), source.folder)
    else:
        model = _model(source, config, "SequenceClassification", whole="model")
    return _together(source, model, _tokenizer(source), classes=config.num_labels)


def load_encoder(spec: ModelSpec, config: Any = None, *, head: bool = False) -> tuple[Any, Any]:
    """An encoder in float32 and its tokenizer. `head`: under a classification head, which may be new. `config` replaces the
    folder's own. AlloyError."""
    source = locate(spec)
    config = config if config is not None else _config(source)
    model = _model(source, config, "SequenceClassification" if head else "", whole="encoder" if head else "")
    return _together(source, model, _tokenizer(source), classes=config.num_labels if head else None)


def load_language_model(spec: ModelSpec) -> tuple[Any, Any]:
    """A causal language model in float32 and its tokenizer. AlloyError."""
    source = locate(spec)
    model = _model(source, _config(source), "CausalLM", whole="model")
    model, tokenizer = _together(source, model, _tokenizer(source))
    with _explained(source, []), _quiet(), torch.random.fork_rng():
        ids = torch.tensor([tokenizer(TRIED[0]).input_ids])
        model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=True, max_new_tokens=2)
    return model, tokenizer


def explain(error: BaseException, source: Source) -> AlloyError:
    """What went wrong while a model was loaded, in words that a user can act upon."""
    if is_out_of_memory(error):
        return AlloyError(
            expected=f"memory for the model '{source.model}'",
            got="too little",
            hint="Free some memory, take a smaller model, or check the sizes in its config.json.",
        )
    text = str(error)
    if "trust_remote_code" in text or "custom code" in text:
        return needs_code(source.model)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    missing = isinstance(error, ImportError)
    return AlloyError(
        expected="a model folder (config.json, model.safetensors, tokenizer files)" if not missing else
        f"the packages that '{source.model}' needs",
        got=f"'{source.model}' ({first[:200]})",
        hint="Install what is missing." if missing else
        "Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
    )  # fmt: skip


@contextmanager
def _explained(source: Source, staged_at: list[str]) -> Iterator[None]:
    """Any error inside becomes an AlloyError: the files are foreign, and the libraries that read them fail in many ways."""
    try:
        yield
    except AlloyError:
        raise
    except BaseException as error:
        panicked = (
            type(error).__name__ == "PanicException"
        )  # how the tokenizers' Rust code fails; no Exception of Python's
        if not isinstance(error, Exception) and not panicked:
            raise
        found = explain(error, source)
        for place in staged_at:
            found = AlloyError(expected=found.expected, got=found.got.replace(place, source.model), hint=found.hint)
        raise found from error


def _config(source: Source) -> Any:
    from transformers import AutoConfig

    config = _from_pretrained(AutoConfig, source)
    config._name_or_path = source.model
    if getattr(config, "chunk_size_feed_forward", 0):
        # In chunks it saves memory, but fails for texts whose length is no multiple of the chunk's.
        config.chunk_size_feed_forward = 0
    depth = getattr(config, "num_hidden_layers", None)
    if depth is not None and (not isinstance(depth, int) or depth < 1):
        raise AlloyError(
            expected=f"a model with layers in '{source.model}'",
            got=f"{depth!r} of them by its config.json",
            hint="Check the sizes in config.json.",
        )
    return config


def _tokenizer(source: Source) -> Any:
    from transformers import AutoTokenizer

    tokenizer = _from_pretrained(AutoTokenizer, source)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        raise AlloyError(
            expected=f"a tokenizer beside the model '{source.model}'",
            got="none with any word in it",
            hint="Save it there: `tokenizer.save_pretrained(folder)`.",
        )
    return tokenizer


def _model(source: Source, config: Any, head: str, *, whole: str) -> Any:
    """A model in float32. `head`: "SequenceClassification", "CausalLM" or none. `whole`: of which part no weight may be missing."""
    import transformers

    kind: Any = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    check_weights(source.folder, source.model)
    if not source.trusted:
        _check_size(kind, config, source)
    model, report = _from_pretrained(
        kind, source, config=config, dtype=torch.float32, use_safetensors=True, output_loading_info=True,
        ignore_mismatched_sizes=True,
    )  # fmt: skip
    model.config._name_or_path = source.model
    lacking = sorted({*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])})
    if whole == "encoder":
        inner = f"{model.base_model_prefix}."
        lacking = [key for key in lacking if key.startswith(inner) and ".pooler." not in key]
    if whole and lacking:
        raise AlloyError(
            expected=f"weights for the whole of '{source.model}'"
            + (", its classification head included" if whole == "model" else ""),
            got=f"none that fit for {', '.join(lacking[:3])}",
            hint="Its answers would be random. Fine-tune it first, for instance with `alloykit teach`."
            if whole == "model"
            else "Copy the whole folder again.",
        )
    if whole == "model" and (left := sorted(key for key in report["unexpected_keys"] if LAYER.search(key))):
        raise AlloyError(
            expected=f"a config.json of '{source.model}' with all layers of its weights",
            got=f"none for {', '.join(left[:3])}",
            hint="Check `num_hidden_layers` in config.json: without these layers its answers would be others.",
        )
    return model.eval()


def _from_pretrained(kind: Any, source: Source, **more: Any) -> Any:
    """The only call of any `from_pretrained`."""
    places: list[str] = []
    files = nullcontext(source.folder) if source.trusted else staged(source.folder, source.model)
    with _explained(source, places), library_bars_off(), _quiet(), _never_asking(), files as folder:
        places.append(str(folder))
        found = kind.from_pretrained(
            str(folder), trust_remote_code=source.trusted, local_files_only=not source.trusted, **more
        )
        _name(found, str(folder), source)
    return found


def _name(found: Any, copied: str, source: Source) -> None:
    """What was loaded names the model's own folder, not the copy, which is gone when it is used."""
    model = found[0] if isinstance(found, tuple) else found
    modules: list[Any] = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    for module in modules:
        if hasattr(module, "name_or_path"):
            module.name_or_path = source.model
    if hasattr(found, "init_kwargs"):  # a tokenizer
        for key in ("is_local", "local_files_only"):  # of this call; they would be saved with it
            found.init_kwargs.pop(key, None)
        for values in (vars(found), found.init_kwargs):
            for key, value in values.items():
                if isinstance(value, str) and value.startswith(copied):
                    values[key] = value.replace(copied, str(source.folder), 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """transformers neither warns of new heads nor reports what it skipped: what matters becomes an error of ours."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _never_asking() -> Iterator[None]:
    """transformers asks no question on standard input, whatever it finds: with no time to answer, it fails at once."""
    from transformers import dynamic_module_utils

    was = dynamic_module_utils.TIME_OUT_REMOTE_CODE
    dynamic_module_utils.TIME_OUT_REMOTE_CODE = 0
    try:
        yield
    finally:
        dynamic_module_utils.TIME_OUT_REMOTE_CODE = was


def _check_size(kind: Any, config: Any, source: Source) -> None:
    """AlloyError for a configuration of a much larger model than the weights belong to: it would fill the memory.

    The model is built without memory for its values ("meta"), and counted."""
    import safetensors

    held = 0
    for file in source.folder.glob("*.safetensors"):
        with safetensors.safe_open(file, framework="pt") as tensors:
            held += sum(_count(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118
    with _explained(source, []), _quiet(), torch.random.fork_rng(), torch.device("meta"):
        model = kind.from_config(copy.deepcopy(config), trust_remote_code=False)
        asked = sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))
    if asked > 2 * held + SLACK:
        raise AlloyError(
            expected=f"weights for the whole of '{source.model}', which has {asked:,} by its config.json",
            got=f"{held:,}",
            hint="Check the sizes in config.json, and that no weight file is missing.",
        )


def _count(shape: list[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


@torch.no_grad()
def _together(source: Source, model: Any, tokenizer: Any, classes: int | None = None) -> tuple[Any, Any]:
    """Model and tokenizer, after they have read two short texts: what does not fit shows here, and not in the middle of the work.

    AlloyError for weights or outputs that are not finite."""
    _check_finite(model.named_parameters(), source, "weights")
    with _explained(source, []), _quiet(), torch.random.fork_rng():
        added = tokenizer.get_added_vocab()  # a few more than the model knows are common there, and never used
        check_tokens([i for token, i in tokenizer.get_vocab().items() if token not in added], model, source.model)
        pads, writes = tokenizer.pad_token_id is not None, getattr(model, "can_generate", lambda: False)()
        if not pads and not writes:
            raise AlloyError(
                expected=f"a token to pad with in the tokenizer of '{source.model}'",
                got="none",
                hint="Set `pad_token` in its tokenizer_config.json.",
            )
        encodings = encode(tokenizer, TRIED, None, usable_length(model, tokenizer, 32))
        for each in [encodings] if pads else [[one] for one in encodings]:
            batch = pad(tokenizer, each)
            check_tokens(batch["input_ids"].flatten().tolist(), model, source.model)
            found = model(**batch)
            if classes is not None and found.logits.shape != (len(each), classes):
                raise ValueError(f"{list(found.logits.shape)} numbers for {len(each)} texts and {classes} labels")
            output = found[0][batch["attention_mask"].bool()] if found[0].dim() == 3 else found[0]  # not of padding
            _check_finite([("the output for a short text", output)], source, "output")
    return model, tokenizer


def _check_finite(tensors: Iterable[tuple[str, torch.Tensor]], source: Source, what: str) -> None:
    """AlloyError if a tensor holds NaN or infinity. tensors: with their names; no copy is made of them."""
    for name, tensor in tensors:
        if tensor.numel() and not all(bool(end.isfinite()) for end in torch.aminmax(tensor.detach())):
            raise AlloyError(
                expected=f"finite {what} of '{source.model}'",
                got=f"NaN or infinity in {name}",
                hint="The file is damaged, or the model's training diverged: copy it again, or train it again.",
            )
