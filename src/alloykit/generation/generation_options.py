"""The recipe's `generation:` block."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Discriminator, Field, Tag, model_validator

from alloykit.blocks import Block, ModelSpec, PathText, Seed
from alloykit.names import quoted

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
    """A folder or a hub id (the paper: openai-community/gpt2, -medium, -large; microsoft/biogpt). A folder may hold one GGUF file in place of
    config.json and safetensors (`pip install 'alloykit[gguf]'`)."""


class GenerationOptions(Block):
    """StrataNet's steerable generator (Vijayaraghavan et al. 2024, §4.3, Appendix A). Values that the paper does not give are ours."""

    language_model: LanguageModel
    """The causal language model that writes the texts."""
    per_class: int = Field(200, gt=0)
    """Texts for each class of each teacher (not given in the paper)."""
    steer: Literal["teacher", "prompt", "both", "none"] = "teacher"
    """teacher: weighted decoding, Eq. 1; prompt: the language model follows `prompt` (Appendix B.2); both: it follows `prompt`, and the teacher
    steers its answer; none: it is not steered."""
    candidates: int = Field(200, gt=1)
    """m: how many of the language model's most probable tokens the teacher reads (the paper: 200)."""
    candidates_top_p: Probability = 1.0
    """The teacher reads only the fewest most probable tokens that have this probability together, at most `candidates` of them (ours). Below
    1 it reads less, and the texts have a lower perplexity."""
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
    """The prompt before every text, which is not part of the text; "{label}" stands for the class (the paper's prompts: Table 6). With `steer:
    prompt` and `both`, a model that has a chat template gets it as a user's message."""
    descriptions: dict[str, str] = Field(default_factory=dict)
    """What "{label}" in `prompt` stands for, by label of a teacher: {label: words} (ours). For names that a language model does not understand, such as `CSAI`.
    A label that is not here is called by its name, as in the paper."""
    start_token: str | None = None
    """The token before every text, if no chat template is used. null: the tokenizer's bos token, else its eos token; but `<|endoftext|>` of a chat model whose
    bos token opens a message or is missing."""
    precision: Literal["auto", "float32", "bfloat16"] = "float32"
    """Of the language model, and of a teacher while it steers. auto: bfloat16 if the device multiplies it natively, else float32. The
    teacher's confidence in a finished text is computed in float32."""
    batch_size: int = Field(16, gt=0)
    """Texts written at once; the teacher reads batch_size × candidates continuations together."""
    attempts: int = Field(4, gt=0)
    """At most this many times `per_class` texts are written, to replace duplicates and empty texts."""
    seed: Seed = 0
    """Seed of the sampling."""

    @model_validator(mode="after")
    def _consistent(self) -> GenerationOptions:
        if max(as_list(self.top_k), default=0) >= self.candidates and self.steered:
            raise ValueError(f"top_k ({self.top_k}) must be below candidates ({self.candidates})")
        for name in ("temperature", "top_p", "top_k"):
            if not as_list(getattr(self, name)):
                raise ValueError(f"{name} must not be an empty list")
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"min_tokens ({self.min_tokens}) must not be above max_tokens ({self.max_tokens})")
        if self.prompted and "{label}" not in self.prompt:
            raise ValueError(
                f'steer: {self.steer} needs a prompt with "{{label}}" in it, for instance "Generate a {{label}} news article:"'
            )
        if self.descriptions and not self.prompted:
            raise ValueError(
                f"`descriptions` are for prompts, and `steer: {self.steer}` has none; set `steer: prompt` or `both`"
            )
        if empty := [label for label, words in self.descriptions.items() if not words.strip()]:
            raise ValueError(f"the description of label {quoted(empty)} is empty")
        return self

    @property
    def steered(self) -> bool:
        """Whether the teacher steers the language model."""
        return self.steer in ("teacher", "both")

    @property
    def prompted(self) -> bool:
        """Whether the language model follows `prompt`."""
        return self.steer in ("prompt", "both")


def as_list(value: Value | list[Value]) -> list[Value]:
    """The value of an option as a list, also if it is a single value."""
    return value if isinstance(value, list) else [value]
