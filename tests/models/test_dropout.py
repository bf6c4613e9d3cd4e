"""Dropout acts in every architecture, in hidden layers and in attention, and no flag is left behind."""

import pytest
import tiny
import torch
from some_quick import some_quick
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from alloykit.errors import AlloyError
from alloykit.models.dropout import dropout_active, dropout_rates, set_dropout_rate
from alloykit.teachers.hugging_face import HuggingFaceSpec, read_teacher_info
from alloykit.teachers.mc_dropout import StockDropout, check_varies
from alloykit.teachers.protocol import Reading

# The setting that drops attention probabilities. XLNet has one setting for everything.
ATTENTION = {
    "bert": "attention_probs_dropout_prob",
    "roberta": "attention_probs_dropout_prob",
    "distilbert": "attention_dropout",
    "albert": "attention_probs_dropout_prob",
    "electra": "attention_probs_dropout_prob",
    "xlnet": "dropout",
    "deberta-v2": "attention_probs_dropout_prob",
    "modernbert": "attention_dropout",
}
every_architecture = pytest.mark.parametrize("architecture", some_quick(tiny.SIZES, "bert", "modernbert", "deberta-v2"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("dropout")
    return {name: tiny.classifier(root / name, ["a", "b", "c"], name, logit_scale=1.0) for name in tiny.SIZES}


def build(folder, rate, **settings):
    """A model whose every dropout setting is `rate`, but for `settings`."""
    config = AutoConfig.from_pretrained(folder)
    set_dropout_rate(config, rate)
    for key, value in settings.items():
        assert hasattr(config, key)
        setattr(config, key, value)
    return AutoModelForSequenceClassification.from_pretrained(folder, config=config).eval().requires_grad_(False)


def read(folder, n=3):
    words = AutoTokenizer.from_pretrained(folder)
    return dict(words(tiny.texts(n, seed=4), padding=True, return_tensors="pt"))


def plain(model, batch):
    with torch.no_grad():
        return model(**batch).logits.float().softmax(-1)


def sample(model, batch, passes=3):
    torch.manual_seed(0)
    with torch.no_grad():
        return StockDropout().sample(model, batch, passes)


def in_attention(model, name):
    """Whether a module is inside an attention block, by the names of its parents' classes."""
    parts = name.split(".")
    parents = [model.get_submodule(".".join(parts[:n])) for n in range(1, len(parts))]
    return any("Attention" in type(parent).__name__ for parent in parents)


@every_architecture
def test_passes_vary_with_attention_dropout_alone(folders, architecture):
    model = build(folders[architecture], 0.0, **{ATTENTION[architecture]: 0.5})
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout) and not in_attention(model, name):
            assert module.p == 0 or architecture == "xlnet", name
            module.p = 0.0
    batch = read(folders[architecture])
    before, drawn = plain(model, batch), sample(model, batch)
    assert drawn.shape == (3, 3, 3)
    torch.testing.assert_close(drawn.sum(-1), torch.ones(3, 3))
    for k in range(3):
        assert not torch.allclose(drawn[k], before, atol=1e-4), "the pass is the plain one"
        assert not torch.allclose(drawn[k], drawn[k - 1], atol=1e-4), "two passes are the same"
    check_varies(before, drawn, "t")
    assert torch.equal(plain(model, batch), before), "dropout is still on"


@every_architecture
def test_passes_vary_with_hidden_dropout_alone(folders, architecture):
    model = build(folders[architecture], 0.5)
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout) and in_attention(model, name):
            module.p = 0.0
        for attribute in ("dropout_prob", "attention_dropout"):
            if isinstance(getattr(module, attribute, None), float):
                setattr(module, attribute, 0.0)
    batch = read(folders[architecture])
    check_varies(plain(model, batch), sample(model, batch), "t")


@every_architecture
def test_rate_zero_everywhere_is_an_error_that_says_so(folders, architecture):
    model, batch = build(folders[architecture], 0.0), read(folders[architecture])
    assert not any(m.p for m in model.modules() if isinstance(m, nn.Dropout))
    with pytest.raises(AlloyError, match=r"'t'.*zero variance.*dropout: 0\.1"):
        check_varies(plain(model, batch), sample(model, batch), "t")


def flags(model):
    return {name: module.training for name, module in model.named_modules()}


@every_architecture
@pytest.mark.parametrize("mixed", [False, True])
def test_every_flag_is_restored(folders, architecture, mixed):
    model = build(folders[architecture], 0.3)
    if mixed:
        g = torch.Generator().manual_seed(1)
        for module in model.modules():
            module.training = bool(torch.rand((), generator=g) > 0.5)
    before, batch = flags(model), read(folders[architecture])
    sample(model, batch, passes=1)
    assert flags(model) == before
    with pytest.raises(KeyError, match="boom"), dropout_active(model):
        raise KeyError("boom")
    assert flags(model) == before
    with pytest.raises((TypeError, ValueError)):
        StockDropout().sample(model, {"nonsense": torch.zeros(1)}, 2)
    assert flags(model) == before
    with dropout_active(model), dropout_active(model):
        pass
    assert flags(model) == before


@every_architecture
def test_only_dropout_and_attention_are_switched_on(folders, architecture):
    model = build(folders[architecture], 0.3)
    with dropout_active(model):
        for name, module in model.named_modules():
            expected = isinstance(module, nn.Dropout) or "Attention" in type(module).__name__
            assert module.training is expected, name
    assert not any(flags(model).values())


@every_architecture
def test_the_rate_reaches_every_dropout_and_nothing_else(folders, architecture):
    config = AutoConfig.from_pretrained(folders[architecture])
    before = config.to_dict()
    changed = set_dropout_rate(config, 0.37)
    after = config.to_dict()
    assert ATTENTION[architecture] in changed
    assert all(after[key] == 0.37 for key in changed)
    assert {k: v for k, v in after.items() if k not in changed} == {k: v for k, v in before.items() if k not in changed}
    assert {k for k in before if "drop" in k} == set(changed)
    model = AutoModelForSequenceClassification.from_config(config)
    rates = {module.p for module in model.modules() if isinstance(module, nn.Dropout)}
    assert rates == {0.37}


@every_architecture
def test_a_teacher_is_loaded_with_the_rate_and_stays_in_eval_mode(folders, architecture):
    """ModernBERT's rates default to 0 and its dropouts to identities: the rate must be set before construction."""
    info = read_teacher_info(HuggingFaceSpec(model=str(folders[architecture])), "t")
    teacher = info.load(Reading(dropout=0.25))
    assert not teacher.model.training
    assert not any(p.requires_grad for p in teacher.model.parameters())
    assert {m.p for m in teacher.model.modules() if isinstance(m, nn.Dropout)} == {0.25}
    batch = teacher.batch(teacher.encode(tiny.texts(3)))
    before = plain(teacher.model, batch)
    check_varies(before, sample(teacher.model, batch), "t")
    unchanged = info.load(Reading())
    torch.testing.assert_close(plain(unchanged.model, batch), before)
    default = AutoConfig.from_pretrained(folders[architecture])
    assert getattr(unchanged.model.config, ATTENTION[architecture]) == getattr(default, ATTENTION[architecture])


def test_modernbert_does_not_vary_at_its_own_rates(folders):
    model = AutoModelForSequenceClassification.from_pretrained(folders["modernbert"]).eval()
    batch = read(folders["modernbert"])
    with pytest.raises(AlloyError, match="zero variance"):
        check_varies(plain(model, batch), sample(model, batch), "t")


def test_passes_of_a_certain_answer_vary():
    """One text of which the teacher is certain, as in `/explain` or in a pool's last shard: its passes differ in the ninth decimal."""
    logits = torch.tensor([[21.0, 0.0]])
    passes = (logits + torch.tensor([0.3, -0.2, 0.1, 0.0]).view(4, 1, 1) * torch.tensor([1.0, 0.0])).softmax(-1)
    assert (passes - logits.softmax(-1)).abs().max() < 1e-7
    check_varies(logits.softmax(-1), passes, "t")


def test_passes_that_vary_little_vary():
    plain = torch.tensor([[0.5, 0.5]])
    check_varies(plain, plain + torch.tensor([[[1e-5, -1e-5]]]), "t")
    with pytest.raises(AlloyError, match="zero variance"):
        check_varies(plain, plain + torch.tensor([[[6e-8, -6e-8]]]), "t")


def test_switches_of_other_types_are_left_alone():
    config = AutoConfig.for_model("bert", use_dropout_layer=True, dropout_names=["a"])
    changed = set_dropout_rate(config, 0.2)
    assert set(changed) == {"hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"}
    assert config.use_dropout_layer is True
    assert config.dropout_names == ["a"]


@pytest.mark.parametrize("kind", ["gpt2", "gpt_bigcode", "openai-gpt", "ctrl", "phi"])
def test_rates_that_are_named_pdrop_are_rates(kind):
    config = AutoConfig.for_model(kind)
    assert dropout_rates(config)
    set_dropout_rate(config, 0.37)
    assert set(dropout_rates(config)) == {0.37}
    assert {value for key, value in config.to_dict().items() if "drop" in key} == {0.37}


def test_sampling_repeats_with_the_generator(folders):
    model, batch = build(folders["bert"], 0.3), read(folders["bert"])
    assert torch.equal(sample(model, batch), sample(model, batch))
