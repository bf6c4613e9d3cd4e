"""Batches of texts for one class of one teacher, from a language model; the teacher's confidence and the text's perplexity beside each."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor, LogitsProcessorList

from alloykit.errors import AlloyError
from alloykit.generation.generation_options import GenerationOptions, Value, as_list
from alloykit.generation.steering import Steering
from alloykit.models.batches import token_batches
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.loading import load_language_model
from alloykit.teachers.hugging_face import Teacher

TOKENS = 8192  # padded tokens that the teacher reads at once
DRAWN = ("temperature", "top_k", "top_p")  # options of which each batch may draw one of several values


@dataclass(frozen=True)
class GeneratedText:
    """One text. `confidence`: P_T(label | text). `perplexity`: per token, of the language model by itself."""

    text: str
    label: str
    teacher: str
    confidence: float
    predicted: str
    perplexity: float

    def row(self) -> dict[str, Any]:
        return asdict(self)


class Writer:
    """A language model that writes for a teacher. `reads`: texts that the teacher has read to steer it."""

    def __init__(self, options: GenerationOptions, device: str) -> None:
        spec = options.language_model
        self.options, self.device, self.reads = options, device, 0
        self.model, self.tokenizer = load_language_model(spec)
        self.model.to(device)
        if self.tokenizer.pad_token_id is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.start = (
            self.tokenizer.bos_token_id if self.tokenizer.bos_token_id is not None else self.tokenizer.eos_token_id
        )
        if self.start is None:
            raise AlloyError(
                expected=f"a language model whose tokenizer has a token to begin with, in '{spec.model}'",
                got="neither a bos nor an eos token",
                hint="Take another language model.",
            )
        room = getattr(self.model.config, "max_position_embeddings", None)
        longest = options.max_tokens + len(self._prompt("")) + 1
        if room is not None and longest > room:
            raise AlloyError(
                expected=f"texts that fit into the {room} tokens of '{spec.model}'",
                got=f"`max_tokens: {options.max_tokens}` and a prompt, {longest} together",
                hint=f"Set `generation: {{max_tokens: {room - longest + options.max_tokens}}}` or less.",
            )

    @torch.no_grad()
    def write(self, teacher: Teacher, label: str, n: int, seed: int) -> list[GeneratedText]:
        """n texts for one of the teacher's labels: the same for the same seed, in one environment."""
        options, labels = self.options, teacher.info.labels
        want = torch.full((n,), labels.index(label))
        prompt = torch.tensor([self._prompt(label)] * n, device=self.device)
        processors = LogitsProcessorList([FiniteScores(options.language_model.model)])
        steering = None
        if options.steer == "teacher":
            steering = Steering(
                self.tokenizer, lambda texts: log_probabilities(teacher, texts), want,
                candidates=options.candidates, strength=options.strength, every=options.every, prompt=prompt.shape[1],
            )  # fmt: skip
            processors.append(steering)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            ids = self.model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                logits_processor=processors,
                do_sample=True,
                **{name: _drawn(name, getattr(options, name), seed) for name in DRAWN},
                min_new_tokens=options.min_tokens,
                max_new_tokens=options.max_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        self.reads += steering.reads if steering else 0
        texts = [t.strip() for t in self.tokenizer.batch_decode(ids[:, prompt.shape[1] :], skip_special_tokens=True)]
        said = log_probabilities(teacher, texts).exp()
        puzzled = self.perplexity(texts)
        return [
            GeneratedText(text, label, teacher.info.name, float(p[labels.index(label)]), labels[int(p.argmax())], q)
            for text, p, q in zip(texts, said, puzzled, strict=True)
        ]

    def _prompt(self, label: str) -> list[int]:
        words = self.options.prompt.replace("{label}", label)
        if self.options.steer == "prompt" and self.tokenizer.chat_template:
            asked = [{"role": "user", "content": words}]  # an instruction-tuned model is asked as it was taught to be
            found = self.tokenizer.apply_chat_template(asked, add_generation_prompt=True, return_dict=True)
            return list(found["input_ids"])
        return [self.start, *(self.tokenizer(words, add_special_tokens=False).input_ids if words else [])]

    @torch.no_grad()
    def perplexity(self, texts: Sequence[str]) -> list[float]:
        """exp of the mean negative log-likelihood per token, each text alone; infinite for an empty one, or beyond floats."""
        encoded = [[self.start, *self.tokenizer(t, add_special_tokens=False).input_ids][: self._room] for t in texts]
        found = [math.inf] * len(texts)
        for rows in token_batches([len(e) for e in encoded], TOKENS):
            longest = max(len(encoded[i]) for i in rows)
            ids = torch.full((len(rows), longest), self.tokenizer.pad_token_id, device=self.device)
            mask = torch.zeros_like(ids)
            for n, i in enumerate(rows):
                ids[n, : len(encoded[i])] = torch.tensor(encoded[i])
                mask[n, : len(encoded[i])] = 1
            logs = torch.log_softmax(self.model(ids, attention_mask=mask).logits[:, :-1].float(), -1)
            each = logs.gather(-1, ids[:, 1:, None]).squeeze(-1) * mask[:, 1:]
            for n, i in enumerate(rows):
                if len(encoded[i]) > 1:
                    with suppress(OverflowError):  # a perplexity that no float holds stays infinite
                        found[i] = math.exp(-float(each[n].sum()) / (len(encoded[i]) - 1))
        return found

    @property
    def _room(self) -> int:
        return int(getattr(self.model.config, "max_position_embeddings", None) or 1024)


class FiniteScores(LogitsProcessor):  # type: ignore[misc]
    """Passes scores on unchanged. AlloyError for NaN or +infinity, from which no token can be drawn."""

    def __init__(self, model: str) -> None:
        self.model = model

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids [B, L], scores [B, V]: −∞ is a token that is left out."""
        if not bool((scores < float("inf")).all()):
            raise AlloyError(
                expected=f"finite scores from the language model '{self.model}'",
                got="NaN or infinity",
                hint="Its weights are damaged, or too large for this number format. Take another language model.",
            )
        return scores


def _drawn(name: str, option: Value | list[Value], seed: int) -> Value:
    """A batch's value of an option that may be a list: the same for the same seed, and independent of the other options' values."""
    return random.Random(f"{name} {seed}").choice(as_list(option))


def log_probabilities(teacher: Teacher, texts: Sequence[str]) -> Tensor:
    """log p_i of each text, [n, C_i] float32 on the CPU; equal texts are read once."""
    distinct = {text: i for i, text in enumerate(dict.fromkeys(texts))}

    def run(batch: dict[str, Tensor]) -> Tensor:
        with teacher.lean:
            return torch.log_softmax(teacher.model(**batch).logits.float(), -1)[None]

    found = forward_texts(
        run, teacher.encode(list(distinct)), teacher.model, teacher.tokenizer, device=teacher.device,
        width=len(teacher.info.labels), budget=Budget(TOKENS), name=f"teacher '{teacher.info.name}'",
    )  # fmt: skip
    return found[0][[distinct[text] for text in texts]]
