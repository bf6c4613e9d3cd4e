"""The recipe's `generation:` block."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, model_validator

from alloykit.blocks import Block, ModelSpec, PathText, Seed

Positive = Annotated[float, Field(gt=0)]
Probability = Annotated[float, Field(gt=0, le=1)]
NonNegative = Annotated[int, Field(ge=0)]
Value = TypeVar("Value", int, float)


def _how_many(value: Any) -> str:
    return "several" if isinstance(value, list | tuple) else "one"


OneOrSeveral = Annotated[
    Annotated[Value, Tag("one")] | Annotated[list[Value], Tag("several")],
    Discriminator(_how_many),
]


class LanguageModel(ModelSpec):
    """Any causal language model of transformers."""

    model: PathText
    """A folder or a hub id (the paper: openai-community/gpt2, -medium, -large; microsoft/biogpt)."""


class GenerationOptions(Block):
    """StrataNet's steerable generator (Vijayaraghavan et al. 2024, §4.3, Appendix A). Values that the paper does not give are ours."""

    language_model: LanguageModel
    """The causal language model that writes the texts."""
    per_class: int = Field(200, gt=0)
    """Texts for each class of each teacher (not given in the paper)."""
    steer: Literal["teacher", "prompt", "none"] = "teacher"
    """teacher: weighted decoding, Eq. 1; prompt: the language model follows `prompt` (Appendix B.2); none: it is not steered."""
    candidates: int = Field(200, gt=1)
    """m: how many of the language model's most probable tokens the teacher reads (the paper: 200)."""
    top_k: OneOrSeveral[NonNegative] = 40
    """k < m: after weighting, the token is sampled from the k best candidates (the paper does not give k). 0: from all. Or a list, of which
    every batch takes one value at random."""
    top_p: OneOrSeveral[Probability] = 0.9
    """Nucleus sampling (the paper: 0.9); or a list, of which every batch takes one value at random."""
    strength: float = Field(1.0, ge=0)
    """γ of Eq. 1 (not given in the paper)."""
    every: int = Field(1, gt=0)
    """The teacher reads only at every n-th token; at the others the language model is not steered (the paper: at every token)."""
    min_tokens: int = Field(8, gt=0)
    """Fewest tokens of a text."""
    max_tokens: int = Field(128, gt=0)
    """Tokens of the language model per text (the paper: at most 128)."""
    temperature: OneOrSeveral[Positive] = 1.0
    """Of the distribution that is sampled from, after weighting; or a list, of which every batch takes one value at random (Appendix B.2 varies it)."""
    prompt: str = ""
    """The prompt before every text, which is not part of the text; "{label}" stands for the class (the paper's prompts: Table 6)."""
    batch_size: int = Field(16, gt=0)
    """Texts written at once; the teacher reads batch_size × candidates continuations together."""
    attempts: int = Field(4, gt=0)
    """At most this many times `per_class` texts are written, to replace duplicates and empty texts."""
    seed: Seed = 0
    """Seed of the sampling."""

    @model_validator(mode="after")
    def _consistent(self) -> GenerationOptions:
        if max(as_list(self.top_k), default=0) >= self.candidates and self.steer == "teacher":
            raise ValueError(f"top_k ({self.top_k}) must be below candidates ({self.candidates})")
        for name in ("temperature", "top_p", "top_k"):
            if not as_list(getattr(self, name)):
                raise ValueError(f"{name} must not be an empty list")
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"min_tokens ({self.min_tokens}) must not be above max_tokens ({self.max_tokens})")
        if self.steer == "prompt" and "{label}" not in self.prompt:
            raise ValueError(
                'steer: prompt needs a prompt with "{label}" in it, for instance "Generate a {label} news article:"'
            )
        return self


def as_list(value: Value | list[Value]) -> list[Value]:
    """The value of an option as a list, also if it is a single value."""
    return value if isinstance(value, list) else [value]
