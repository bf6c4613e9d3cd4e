"""The states of a text's tokens that a model gives: how wide they are, in how many layers, and how they are read.

Three kinds of models are not like BERT here. A model of texts and images has its sizes in a part of its configuration. A model with an
encoder and a decoder gives states of both. Funnel and CANINE join tokens between their layers, so that later layers have fewer states.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.methods.inputs import ModelShape

# Reformer gives two states of a token side by side, and computes with dropout for one length of text only.
ONE_PASS_ONLY = {"reformer"}


def text_part(config: Any) -> Any:
    """The part of a configuration that describes what reads texts. It is the configuration itself in a model of texts only."""
    return config.get_text_config()


def states_shape(config: Any) -> ModelShape | None:
    """The size of the states that a classifier gives, from its configuration. None for an architecture whose states cannot be read."""
    part = text_part(config)
    width, layers = (getattr(part, key, None) for key in ("hidden_size", "num_hidden_layers"))
    if not isinstance(width, int) or not isinstance(layers, int) or config.model_type in ONE_PASS_ONLY:
        return None
    return ModelShape(width, layers)


def encoder_shape(config: Any, model: str) -> ModelShape:
    """The size of a model that can be a student, or whose states of texts a method reads. model: its name, for messages.

    AlloyError for a model with a decoder beside the encoder, with images beside texts, or without layers of one width."""
    shape = states_shape(config)
    if shape is None or config.is_encoder_decoder or text_part(config) is not config:
        raise AlloyError(
            expected=f"an encoder or a decoder of texts, with layers of one width, in '{model}'",
            got=f"a model of the type '{config.model_type}', which can only be a teacher",
            hint="Take another model, for instance `bundled:minilm`.",
        )
    return shape


def layers_of(output: Any) -> tuple[Tensor, ...]:
    """The states in the output of a model that was called with `output_hidden_states=True`: of the embeddings and of each layer, [B, L, d].

    With an encoder and a decoder, those of the encoder if the model gives them."""
    found = getattr(output, "encoder_hidden_states", None)
    states: tuple[Tensor, ...] = output.hidden_states if found is None else found
    return states


def check_each_token(states: Tensor, mask: Tensor, name: str) -> None:
    """AlloyError if a model has joined tokens: states [B, L', d] and mask [B, L] with L' < L. name: of the model."""
    if states.shape[1] != mask.shape[1]:
        raise AlloyError(
            expected=f"a state of each token from {name}",
            got=f"{states.shape[1]} states for {mask.shape[1]} tokens: its architecture joins tokens",
            hint="Take another model, or a method that does not compare the states of tokens.",
        )
