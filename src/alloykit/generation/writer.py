"""Generate texts for one class of one teacher with a language model, each with the teacher's confidence and its perplexity."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList

from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions, Value, as_list
from alloykit.generation.sampling import Sampling
from alloykit.generation.steering import Steering
from alloykit.models.batches import token_batches
from alloykit.models.loading import load_language_model
from alloykit.names import quoted
from alloykit.precision import choose_precision
from alloykit.teachers.protocol import Answerer

TOKENS_PER_BATCH = 8192  # padded tokens that the teacher reads at once
LOGITS_PER_BATCH = 2**26  # values that the language model returns at once for finished texts
DOCUMENT, MESSAGE = (
    "<|endoftext|>",
    "<|im_start|>",
)  # tokens of the ChatML format: between documents, and before a message
SAMPLED_OPTIONS = (
    "temperature",
    "top_k",
    "top_p",
)  # options that may be lists, of which each batch takes one value at random


@dataclass(frozen=True)
class GeneratedText:
    """One text. `confidence`: the teacher's probability of `label`. `perplexity`: per token, of the language model without steering."""

    text: str
    label: str
    teacher: str
    confidence: float
    predicted: str
    perplexity: float

    def row(self) -> dict[str, Any]:
        """The text as a row of a table."""
        return asdict(self)


class Writer:
    """A language model that writes texts for a teacher. `reads`: how many texts the teacher has read to steer it."""

    def __init__(self, options: GenerationOptions, device: str) -> None:
        spec = options.language_model
        self.options, self.device, self.reads = options, device, 0
        self.model, self.tokenizer = load_language_model(spec)
        self.precision = choose_precision(options.precision, device)
        self.model.to(device=device, dtype=getattr(torch, self.precision))
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.start = self._start()
        self.stops = self._stops()
        for label in ("", *options.descriptions):
            self._require_room(label)

    @torch.no_grad()
    def write(self, teacher: Answerer, label: str, n: int, seed: int) -> list[GeneratedText]:
        """n texts for one of the teacher's labels. In one environment, the same seed gives the same texts."""
        self._require_room(label)
        options, labels = self.options, teacher.info.labels
        classes = torch.full((n,), labels.index(label))
        prompt = torch.tensor([self._prompt(label)] * n, device=self.device)
        processors = LogitsProcessorList([FiniteScores(options.language_model.model)])
        steering = None
        if options.steered:
            steering = Steering(
                self.tokenizer, lambda texts: self._steers(teacher, texts), classes,
                candidates=options.candidates, strength=options.strength, every=options.every, prompt=prompt.shape[1],
                top_p=options.candidates_top_p, stops=self.stops,
            )  # fmt: skip
            processors.append(steering)
        processors.append(
            Sampling(**{name: _sampled_value(name, getattr(options, name), seed) for name in SAMPLED_OPTIONS})
        )
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            ids = self.model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                logits_processor=processors,
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                eos_token_id=self.stops or None,
                min_new_tokens=options.min_tokens,
                max_new_tokens=options.max_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        self.reads += steering.reads if steering else 0
        texts = [t.strip() for t in self.tokenizer.batch_decode(ids[:, prompt.shape[1] :], skip_special_tokens=True)]
        probabilities = log_probabilities(teacher, texts).exp()
        perplexities = self.perplexity(texts)
        return [
            GeneratedText(text, label, teacher.info.name, float(p[labels.index(label)]), labels[int(p.argmax())], q)
            for text, p, q in zip(texts, probabilities, perplexities, strict=True)
        ]

    def _require_room(self, label: str) -> None:
        """AlloyError if the prompt for a label and a text together have more tokens than the language model has positions."""
        positions = getattr(self.model.config, "max_position_embeddings", None)
        together = self.options.max_tokens + len(self._prompt(label)) + 1
        if positions is None or together <= positions:
            return
        room = self.options.max_tokens - (together - positions)
        shorter = f"Set `generation: {{max_tokens: {room}}}` or less." if room > 0 else "Make the prompt shorter."
        raise AlloyError(
            expected=f"texts that fit into the {positions} tokens of '{self.options.language_model.model}'",
            got=f"`max_tokens: {self.options.max_tokens}` and a prompt{f' for label {quoted([label])}' if label else ''}, {together} together",
            hint=shorter,
        )

    def _start(self) -> int:
        """The id of the token before every text. AlloyError if there is none."""
        words, model = self.tokenizer, self.options.language_model.model
        if self.options.start_token is not None:
            found = words.get_vocab().get(self.options.start_token)
            if found is None:
                raise AlloyError(
                    expected=f"a token of '{model}' as `start_token`",
                    got=ascii(self.options.start_token),
                    hint="Leave the option out, or name a token of its tokenizer.",
                )
            return int(found)
        if words.chat_template and words.bos_token in (None, MESSAGE) and DOCUMENT in words.get_vocab():
            return int(words.get_vocab()[DOCUMENT])
        found = words.bos_token_id if words.bos_token_id is not None else words.eos_token_id
        if found is None:
            raise AlloyError(
                expected=f"a language model whose tokenizer has a token to begin with, in '{model}'",
                got="neither a bos nor an eos token",
                hint="Name one: `generation: {start_token: …}`, or take another language model.",
            )
        return int(found)

    def _stops(self) -> list[int]:
        """The ids of the tokens that end a text: the model's own, and the start token if it is not the bos token."""
        own = self.model.generation_config.eos_token_id
        found = list(own) if isinstance(own, list | tuple) else [] if own is None else [own]
        more = [] if self.start == self.tokenizer.bos_token_id else [self.start]
        return sorted({int(token) for token in (*found, *more)})

    def _steers(self, teacher: Answerer, texts: Sequence[str]) -> Tensor:
        """log p_i of continuations, in the generator's number format."""
        fast: AbstractContextManager[Any] = nullcontext()
        if self.precision == "bfloat16":
            fast = torch.autocast(torch.device(self.device).type, torch.bfloat16)
        with fast:
            return log_probabilities(teacher, texts)

    def _prompt(self, label: str) -> list[int]:
        words = self.options.prompt.replace("{label}", self.options.descriptions.get(label, label))
        if self.options.prompted and self.tokenizer.chat_template:
            messages = [{"role": "user", "content": words}]  # the form of an instruction-tuned model's training data
            encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
            return list(encoded["input_ids"])
        return [self.start, *(self.tokenizer(words, add_special_tokens=False).input_ids if words else [])]

    @torch.no_grad()
    def perplexity(self, texts: Sequence[str]) -> list[float]:
        """exp of the mean negative log-likelihood per token, of each text alone. Infinite for an empty text, or if it exceeds a float."""
        encoded = [
            [self.start, *self.tokenizer(t, add_special_tokens=False).input_ids][: self._max_positions] for t in texts
        ]
        # Not `forward_texts`: it pads on the tokenizer's side, and language models pad on the left, which shifts positions.
        perplexities = [math.inf] * len(texts)
        budget = max(1, min(TOKENS_PER_BATCH, LOGITS_PER_BATCH // len(self.tokenizer)))
        for rows in token_batches([len(e) for e in encoded], budget):
            longest = max(len(encoded[i]) for i in rows)
            ids = torch.full((len(rows), longest), self.tokenizer.pad_token_id, device=self.device)
            mask = torch.zeros_like(ids)
            for n, i in enumerate(rows):
                ids[n, : len(encoded[i])] = torch.tensor(encoded[i])
                mask[n, : len(encoded[i])] = 1
            logits = self.model(ids, attention_mask=mask).logits[:, :-1].float()
            each = (logits.gather(-1, ids[:, 1:, None]).squeeze(-1) - logits.logsumexp(-1)) * mask[:, 1:]
            for n, i in enumerate(rows):
                if len(encoded[i]) > 1:
                    with suppress(OverflowError):  # a perplexity beyond the floats stays infinite
                        perplexities[i] = math.exp(-float(each[n].sum()) / (len(encoded[i]) - 1))
        return perplexities

    @property
    def _max_positions(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", None) or 1024)


class FiniteScores(LogitsProcessor):  # type: ignore[misc]
    """Returns the scores unchanged. AlloyError for NaN or +infinity, from which no token can be sampled."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids [B, L], scores [B, V]; −∞ marks a token that is left out."""
        if not bool((scores < float("inf")).all()):
            raise AlloyError(
                expected=f"finite scores from the language model '{self.model}'",
                got="NaN or infinity",
                hint="Its weights are damaged, or too large for this number format. Take another language model.",
            )
        return scores


def _sampled_value(name: str, option: Value | list[Value], seed: int) -> Value:
    """One value of an option that may be a list. The same seed gives the same value, independent of the values of other options."""
    return random.Random(f"{name} {seed}").choice(as_list(option))


def log_probabilities(teacher: Answerer, texts: Sequence[str]) -> Tensor:
    """log p_i of each text, [n, C_i] float32 on the CPU. Equal texts are read once."""
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    outputs = teacher.answer(teacher.prepare(list(distinct)), lambda n: None).logits
    answers = torch.log_softmax(torch.where(outputs.isnan(), 0.0, outputs), -1)  # no answer: all labels alike
    return answers[[distinct[text] for text in texts]]
