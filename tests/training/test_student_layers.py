"""Students of a few layers: which layers, their weights, their round trip through a folder, their labels and seed."""

import json
from itertools import pairwise

import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from some_quick import some_quick
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from alloykit.errors import AlloyError
from alloykit.labels import LabelSpace
from alloykit.models.problem_type import is_multi_label
from alloykit.models.questions import KEY as QUESTIONS_KEY
from alloykit.training.student import build_student, keep_layers, layers_to_keep
from alloykit.training.training_options import StudentSpec

SPACE = LabelSpace.union([["bug", "login"], ["refund", "bug", "invoice"]])
# Where each architecture keeps its layers; ALBERT's share their weights.
STACKS = {
    "bert": "bert.encoder.layer",
    "roberta": "roberta.encoder.layer",
    "distilbert": "distilbert.transformer.layer",
    "albert": None,
    "electra": "electra.encoder.layer",
    "xlnet": "transformer.layer",
    "deberta-v2": "deberta.encoder.layer",
    "modernbert": "model.layers",
}
KEPT = {"first": [0, 1], "last": [1, 2], "even": [0, 2]}
every_architecture = pytest.mark.parametrize("architecture", some_quick(tiny.SIZES, "bert", "xlnet"))
every_choice = pytest.mark.parametrize("keep", list(KEPT))


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    root = tmp_path_factory.mktemp("encoders")
    return {name: tiny.encoder(root / name, name) for name in tiny.SIZES}


def load(folder, **settings):
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, **settings).eval()


def student_of(folder, **options):
    model, words = build_student(StudentSpec(model=str(folder), **options), SPACE)
    return model.eval(), words


def answers(model, words, **settings):
    batch = dict(words(tiny.texts(4, longest=30), padding=True, return_tensors="pt"))
    with torch.no_grad():
        return model(**batch, **settings)


def place(key, stack):
    """(layer number, rest of the name) of a layer's weight; None for others."""
    if stack is None or not key.startswith(stack + "."):
        return None
    number, rest = key[len(stack) + 1 :].split(".", 1)
    return int(number), rest


@every_architecture
@every_choice
def test_kept_layers_are_the_sources_layers(encoders, architecture, keep):
    source, stack = load(encoders[architecture]), STACKS[architecture]
    student, _ = student_of(encoders[architecture], layers=2, keep=keep)
    assert student.config.num_hidden_layers == 2
    theirs, ours = source.state_dict(), student.state_dict()
    copied = 0
    for key, value in ours.items():
        found = place(key, stack)
        if found is None:
            if theirs[key].shape == value.shape and "classifier" not in key and "logits_proj" not in key:
                assert torch.equal(theirs[key], value), key
            continue
        origin = f"{stack}.{KEPT[keep][found[0]]}.{found[1]}"
        assert torch.equal(theirs[origin], value), f"{key} is not {origin}"
        copied += 1
    numbers = {place(key, stack)[0] for key in ours if place(key, stack)}
    assert numbers == ({0, 1} if stack else set())
    assert bool(copied) is (stack is not None)


@every_architecture
@every_choice
def test_a_saved_student_loads_with_the_same_answers(encoders, architecture, keep, tmp_path):
    student, words = student_of(encoders[architecture], layers=2, keep=keep)
    student.save_pretrained(tmp_path)
    words.save_pretrained(tmp_path)
    loaded = load(tmp_path)
    assert set(loaded.state_dict()) == set(student.state_dict())
    for key, value in student.state_dict().items():
        assert torch.equal(loaded.state_dict()[key], value), key
    again = AutoTokenizer.from_pretrained(tmp_path)
    torch.testing.assert_close(answers(loaded, again).logits, answers(student, words).logits, rtol=0, atol=1e-6)
    assert loaded.config.id2label == SPACE.id2label
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["id2label"] == {str(i): name for i, name in enumerate(SPACE.names)}
    assert config["label2id"] == {name: i for i, name in enumerate(SPACE.names)}
    assert answers(loaded, again).logits.shape == (4, SPACE.size)


@every_architecture
def test_the_first_layers_do_what_they_did_in_the_source(encoders, architecture):
    source = load(encoders[architecture])
    student, words = student_of(encoders[architecture], layers=2, keep="first")
    wanted = answers(source, words, output_hidden_states=True).hidden_states
    found = answers(student, words, output_hidden_states=True).hidden_states
    assert len(found) == 3
    assert len(wanted) == 4
    for layer in (0, 1):
        torch.testing.assert_close(found[layer], wanted[layer], rtol=0, atol=1e-5)


@pytest.mark.parametrize("layer_types", [["full_attention", "full_attention", "sliding_attention"]])
@every_choice
def test_modernberts_kinds_of_attention_move_with_their_layers(layer_types, keep, tmp_path):
    folder = tiny.encoder(tmp_path / "source", "modernbert", layer_types=layer_types)
    student, words = student_of(folder, layers=2, keep=keep)
    wanted = [layer_types[i] for i in KEPT[keep]]
    assert list(student.config.layer_types) == wanted
    student.save_pretrained(tmp_path / "student")
    loaded = load(tmp_path / "student")
    assert list(loaded.config.layer_types) == wanted
    torch.testing.assert_close(answers(loaded, words).logits, answers(student, words).logits, rtol=0, atol=1e-6)


@every_architecture
def test_all_layers_are_kept_unless_told(encoders, architecture):
    student, _ = student_of(encoders[architecture])
    assert student.config.num_hidden_layers == 3
    with pytest.raises(AlloyError, match=r"at least 4 layers.*with 3.*layers: 3"):
        student_of(encoders[architecture], layers=4)


@pytest.mark.parametrize(
    ("available", "n", "keep", "wanted"),
    [
        (12, 6, "even", [1, 3, 5, 7, 9, 11]),
        (12, 4, "even", [2, 5, 8, 11]),
        (6, 4, "even", [0, 2, 3, 5]),
        (3, 2, "even", [0, 2]),
        (12, 1, "even", [11]),
        (12, 3, "first", [0, 1, 2]),
        (12, 3, "last", [9, 10, 11]),
        (4, None, "even", [0, 1, 2, 3]),
    ],
)
def test_which_layers(available, n, keep, wanted):
    assert layers_to_keep(available, StudentSpec(model="m", layers=n, keep=keep)) == wanted


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(list(KEPT)))
def test_layers_are_distinct_ascending_and_as_many_as_asked(available, n, keep):
    spec = StudentSpec(model="m", layers=n, keep=keep)
    if n > available:
        with pytest.raises(AlloyError):
            layers_to_keep(available, spec)
        return
    kept = layers_to_keep(available, spec)
    assert len(kept) == n
    assert kept == sorted(set(kept))
    assert kept[0] >= 0
    assert kept[-1] < available
    assert keep == "first" or kept[-1] == available - 1, "the last layer is always in"
    if keep == "even" and n > 1:
        gaps = {b - a for a, b in pairwise(kept)}
        assert max(gaps) - min(gaps) <= 1


def bare(architecture, **settings):
    """A random classifier of three layers of an architecture that tiny.py does not know."""
    torch.manual_seed(0)
    config = AutoConfig.for_model(architecture, vocab_size=50, num_labels=4, pad_token_id=0, **settings)
    return AutoModelForSequenceClassification.from_config(config).eval()


def test_layers_in_several_lists_move_together():
    """XLM and FlauBERT keep attention, norms and feed-forward blocks in lists of their own."""
    source = bare("xlm", emb_dim=16, n_layers=3, n_heads=2)
    theirs, ours = source.state_dict(), keep_layers(source, [1, 2]).state_dict()
    for name in ("attentions", "layer_norm1", "ffns", "layer_norm2"):
        keys = [key for key in ours if place(key, f"transformer.{name}")]
        assert keys
        for key in keys:
            number, rest = place(key, f"transformer.{name}")
            assert torch.equal(ours[key], theirs[f"transformer.{name}.{number + 1}.{rest}"]), key


def test_settings_per_layer_move_with_their_layers():
    """Longformer has one attention window per layer."""
    source = bare(
        "longformer",
        hidden_size=16,
        num_attention_heads=2,
        num_hidden_layers=3,
        intermediate_size=32,
        attention_window=[4, 8, 16],
        max_position_embeddings=80,
    )
    assert keep_layers(source, [1, 2]).config.attention_window == [8, 16]


def test_a_model_that_cannot_be_taken_apart_is_refused():
    """Funnel counts its layers in blocks."""
    source = bare("funnel", block_sizes=[1, 1, 1], d_model=16, n_head=2, d_head=8, d_inner=32)
    with pytest.raises(AlloyError, match="separate layers"):
        keep_layers(source, [1, 2])


def test_weights_that_read_all_layers_are_named():
    """ESM has a head that reads the attention of every layer."""
    source = bare("esm", hidden_size=16, num_attention_heads=2, num_hidden_layers=3, intermediate_size=32)
    with pytest.raises(AlloyError, match="separate layers.*number of layers: esm.contact_head"):
        keep_layers(source, [1, 2])


@every_architecture
def test_a_student_is_the_same_for_the_same_seed_only(encoders, architecture):
    spec = StudentSpec(model=str(encoders[architecture]), layers=2)
    torch.manual_seed(99)
    one, two, other = (build_student(spec, SPACE, seed)[0].state_dict() for seed in (4, 4, 5))
    assert all(torch.equal(one[key], two[key]) for key in one)
    heads = [key for key in one if not torch.equal(one[key], other[key])]
    assert heads
    assert all(one[key].dtype == torch.float32 for key in one)
    assert all(key.split(".")[0] in {"classifier", "pre_classifier", "logits_proj", "head"} for key in heads), heads


def test_a_head_of_the_same_size_but_other_labels_is_drawn_anew(tmp_path):
    """Another task's head of as many classes is not the start of ours."""
    folder = tiny.classifier(tmp_path, ["w", "x", "y", "z"])
    assert SPACE.size == 4
    other = load(folder)
    torch.nn.init.ones_(other.classifier.bias)
    other.save_pretrained(folder)
    student, _ = student_of(folder)
    assert student.config.id2label == SPACE.id2label
    assert not torch.equal(student.classifier.weight, load(folder).classifier.weight)
    assert not student.classifier.bias.any()


def test_a_head_of_the_same_labels_is_the_start_of_ours(tmp_path):
    folder = tiny.classifier(tmp_path, list(SPACE.names))
    assert torch.equal(student_of(folder)[0].classifier.weight, load(folder).classifier.weight)


@pytest.mark.parametrize("multi_label", [False, True])
def test_the_configuration_says_whether_labels_exclude_each_other(multi_label, tmp_path):
    folder = tiny.encoder(tmp_path, problem_type=None if multi_label else "multi_label_classification")
    student, _ = build_student(StudentSpec(model=str(folder), layers=1), SPACE, multi_label=multi_label)
    assert is_multi_label(student.config) is multi_label


def test_dropout_is_the_encoders_own_unless_told(encoders):
    own, _ = student_of(encoders["bert"])
    told, _ = student_of(encoders["bert"], dropout=0.35)
    rates = [{m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} for model in (own, told)]
    assert rates[0] != rates[1] == {0.35}


def test_a_student_made_of_a_student_has_none_of_its_records(tmp_path):
    """The temperature and the estimated accuracy of an earlier student are not those of a new one, nor are its questions and its head."""
    folder = tiny.encoder(tmp_path / "earlier")
    config = json.loads((folder / "config.json").read_text())
    records = {"alloykit_temperature": 0.5, "alloykit_estimated_accuracy": {"bug": 0.9}, "alloykit_long_texts": "tail"}
    records |= {QUESTIONS_KEY: [{"name": "topic"}]}
    (folder / "config.json").write_text(json.dumps(config | records))
    student, _ = student_of(folder)
    student.save_pretrained(tmp_path / "student")
    saved = json.loads((tmp_path / "student" / "config.json").read_text())
    assert [key for key in saved if key.startswith("alloykit")] == []
