"""A language model in a GGUF file: the file is made here, with weights in 8 bits, and read as generation reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.writer import Writer
from alloykit.models.loading import load_classifier, load_language_model
from alloykit.models.location import model_identity
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.protocol import Reading

gguf = pytest.importorskip("gguf")
WIDTH, HEADS, INNER, LAYERS = 32, 4, 64, 2
LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)]
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "Ġ", *LETTERS, "th", "Ġth"]


def write(path: Path, *, layers: int = LAYERS, inner: int = INNER, leave_out: str = "") -> dict[str, Any]:
    """A Llama with random weights in Q8_0 and a BPE of letters. Returns the weights as float32, before they were rounded."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3] + [1] * (len(TOKENS) - 3))
    writer.add_token_merges(["t h", "Ġ th"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for m in messages %}<|im_start|>{{ m.content }}{% endfor %}")
    draw = torch.Generator().manual_seed(0)
    shapes = {"token_embd": (len(TOKENS), WIDTH)}
    for n in range(LAYERS):
        shapes |= {f"blk.{n}.{name}": (WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v", "attn_output")}
        shapes |= {f"blk.{n}.ffn_gate": (INNER, WIDTH), f"blk.{n}.ffn_up": (INNER, WIDTH)}
        shapes |= {f"blk.{n}.ffn_down": (WIDTH, INNER)}
        shapes |= {f"blk.{n}.attn_norm": (WIDTH,), f"blk.{n}.ffn_norm": (WIDTH,)}
    shapes |= {"output_norm": (WIDTH,)}
    weights = {}
    for name, shape in shapes.items():
        value = (torch.randn(shape, generator=draw) * 0.4 if len(shape) == 2 else torch.ones(shape)).numpy()
        weights[name] = value
        if name == leave_out:
            continue
        if len(shape) == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(f"{name}.weight", gguf.quantize(value, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    place = tmp_path_factory.mktemp("gguf")
    return place, write(place / "any name.Q8_0.gguf")


def test_weights_and_words_are_those_of_the_file(
    folder: tuple[Path, dict[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    place, weights = folder
    model, words = load_language_model(ModelSpec(model=str(place)))
    found = dict(model.named_parameters())
    assert all(p.dtype == torch.float32 for p in found.values())
    assert len(found) == len(weights)
    wanted = torch.from_numpy(weights["blk.1.ffn_down"])
    assert torch.allclose(found["model.layers.1.mlp.down_proj.weight"], wanted, atol=0.01), "8 bits round"
    assert words.convert_ids_to_tokens(words("the th").input_ids) == ["th", "e", "Ġth"]
    assert capfd.readouterr().err == "", "no bars of other libraries"


def test_it_writes_and_starts_as_documents_do(folder: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    tiny.classifier(tmp_path / "teacher", ["refund", "charge"], "bert", seed=2)
    info = read_teacher_info(HuggingFaceSpec(model=str(tmp_path / "teacher")), "teacher")
    values = {"language_model": str(folder[0]), "candidates": 6, "top_k": 4, "max_tokens": 6, "min_tokens": 3}
    writer = Writer(GenerationOptions.model_validate(values | {"precision": "bfloat16"}), "cpu")
    assert (writer.start, writer.stops) == (0, [0, 2])
    teacher = info.load(Reading(max_length=16))
    texts = writer.write(teacher, "refund", 3, seed=0)
    assert texts == writer.write(teacher, "refund", 3, seed=0)
    assert any(t.text for t in texts)


def test_its_content_identifies_it(folder: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    write(tmp_path / "same" / "other name.gguf")
    write(tmp_path / "other" / "any name.Q8_0.gguf", leave_out="output_norm")
    own = model_identity(str(folder[0]), None)
    assert model_identity(str(tmp_path / "other"), None) != own
    assert own != f"{folder[0]}@main"


def test_what_is_refused(folder: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "short" / "model.gguf", leave_out="blk.1.attn_q")
    with pytest.raises(AlloyError, match=r"weights for the whole.*attn|q_proj"):
        load_language_model(ModelSpec(model=str(tmp_path / "short")))
    write(tmp_path / "wide" / "model.gguf", inner=2**21)
    with pytest.raises(AlloyError, match="weights for the whole"):
        load_language_model(ModelSpec(model=str(tmp_path / "wide")))
    write(tmp_path / "deep" / "model.gguf", layers=9000)
    with pytest.raises(AlloyError, match="1 to 1,000 layers"):
        load_language_model(ModelSpec(model=str(tmp_path / "deep")))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "model.gguf").write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(AlloyError, match="damaged"):
        load_language_model(ModelSpec(model=str(tmp_path / "damaged")))
    write(tmp_path / "short" / "second.gguf")
    with pytest.raises(AlloyError, match="one GGUF file"):
        load_language_model(ModelSpec(model=str(tmp_path / "short")))
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "model.gguf").symlink_to(next(folder[0].glob("*.gguf")))
    with pytest.raises(AlloyError, match="outside that folder"):
        load_language_model(ModelSpec(model=str(tmp_path / "link")))
    with pytest.raises(AlloyError, match="only the language model of"):
        load_classifier(ModelSpec(model=str(folder[0])))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AlloyError, match=r"alloykit\[gguf\]"):
        load_language_model(ModelSpec(model=str(folder[0])))
