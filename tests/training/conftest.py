"""A student encoder without dropout."""

import pytest
import tiny
from transformers import AutoTokenizer

QUIET = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.fixture(scope="session")
def quiet_encoder(tmp_path_factory):
    """A tiny BERT without dropout, so that training is the same function of the data however it is cut."""
    return tiny.encoder(tmp_path_factory.mktemp("quiet") / "encoder", "bert", 5, num_hidden_layers=2, **QUIET)


@pytest.fixture(scope="session")
def words(quiet_encoder):
    return AutoTokenizer.from_pretrained(quiet_encoder)
