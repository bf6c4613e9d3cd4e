"""A small masked language model with a vocabulary of its own, on the texts at hand.

Its embeddings begin as word vectors from counts, its other weights with the spread that keeps a narrow model's signals alive
(width^-1/2; BERT's 0.02 is made for 768). 15 % of the tokens are hidden (80/10/10). Texts are joined with separators and cut into blocks,
so that nothing is padded; no dropout while learning, 0.1 in the configuration that is saved. Teachers' test texts are never read.
"""

from __future__ import annotations

import itertools
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import torch
import torch.nn.functional as F
from tokenizers.implementations import BertWordPieceTokenizer, ByteLevelBPETokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizerFast,
    DataCollatorForLanguageModeling,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizerFast,
    Trainer,
    TrainingArguments,
)

from alloykit.precision import choose_precision
from benchmarks.encoders.vectors import vectors
from benchmarks.harness.data import read
from benchmarks.speed.measure import device

BLOCK, POSITIONS, BATCH, RATE, HELD_OUT, SEED = 64, 128, 64, 1e-3, 0.02, 0
SPREAD = 0.1  # of the embeddings' entries at first


@dataclass(frozen=True)
class Plan:
    """`texts`: by folder of the data, how many texts to read (None: all). `bpe`: RoBERTa with byte-level BPE, else BERT with WordPiece."""

    name: str
    texts: dict[str, int | None]
    vocabulary: int
    epochs: float
    bpe: bool = False
    width: int = 192
    layers: int = 3


def train(plan: Plan, data: Path, folder: Path) -> dict[str, Any]:
    """Save model and tokenizer under `folder`; return sizes and the loss on held-out blocks."""
    begun = time.perf_counter()
    texts = list(itertools.chain.from_iterable(_texts(data, name, n) for name, n in plan.texts.items()))
    random.Random(SEED).shuffle(texts)
    tokenizer = _tokenizer(plan, texts)
    blocks = datasets.Dataset.from_dict({"input_ids": list(_blocks(tokenizer, texts))})
    parts = blocks.train_test_split(HELD_OUT, seed=SEED)
    torch.manual_seed(SEED)
    model = _model(plan, tokenizer)
    _begin(model, vectors(parts["train"]["input_ids"], tokenizer.all_special_ids, len(tokenizer), plan.width))
    with tempfile.TemporaryDirectory() as scratch:
        trainer = _MaskedOnly(
            model=model,
            args=TrainingArguments(
                output_dir=scratch,
                num_train_epochs=plan.epochs,
                per_device_train_batch_size=BATCH,
                per_device_eval_batch_size=BATCH,
                learning_rate=RATE,
                warmup_steps=200,
                weight_decay=0.01,
                lr_scheduler_type="linear",
                bf16=choose_precision("auto", device()) == "bfloat16",
                use_cpu=device() == "cpu",
                save_strategy="no",
                logging_steps=100,
                report_to="none",
                seed=SEED,
            ),
            train_dataset=parts["train"],
            eval_dataset=parts["test"],
            data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15),
        )
        trainer.train()
        loss = trainer.evaluate()["eval_loss"]
    model.config.hidden_dropout_prob = model.config.attention_probs_dropout_prob = 0.1
    model.base_model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return {
        "parameters": sum(p.numel() for p in model.base_model.parameters()),
        "vocabulary": len(tokenizer),
        "texts": len(texts),
        "tokens_per_epoch": len(parts["train"]) * BLOCK,
        "held_out_loss": round(float(loss), 3),
        "seconds": round(time.perf_counter() - begun),
    }


def _begin(model: Any, found: torch.Tensor) -> None:
    known = found.abs().sum(1) > 0
    with torch.no_grad():
        model.base_model.embeddings.word_embeddings.weight[known] = SPREAD * found.shape[1] ** 0.5 * found[known]


class _MaskedOnly(Trainer):
    """The same loss, with the vocabulary's logits computed for hidden tokens alone: they are half of such a small model's work."""

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **_: Any) -> Any:
        labels = inputs.pop("labels")
        hidden = labels != -100
        states = model.base_model(**inputs).last_hidden_state[hidden]
        head = model.lm_head if hasattr(model, "lm_head") else model.cls
        loss = F.cross_entropy(head(states).float(), labels[hidden])
        return (loss, {"loss": loss}) if return_outputs else loss


def _texts(data: Path, name: str, most: int | None) -> list[str]:
    column = list(read(data / name / "train.parquet")["text"])
    return column if most is None else random.Random(f"{SEED} {name}").sample(column, most)


def _tokenizer(plan: Plan, texts: list[str]) -> PreTrainedTokenizerFast:
    with tempfile.TemporaryDirectory() as scratch:
        if plan.bpe:
            bpe = ByteLevelBPETokenizer()
            special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
            bpe.train_from_iterator(texts, vocab_size=plan.vocabulary, special_tokens=special, show_progress=False)
            return _loaded(RobertaTokenizerFast, bpe, scratch)
        pieces = BertWordPieceTokenizer(lowercase=True)
        pieces.train_from_iterator(
            texts, vocab_size=plan.vocabulary, limit_alphabet=plan.vocabulary // 2, show_progress=False
        )  # by default it would be 1,000 characters, which are too few for Chinese
        return _loaded(BertTokenizerFast, pieces, scratch)


def _loaded(kind: Any, trained: Any, folder: str) -> PreTrainedTokenizerFast:
    trained.save_model(folder)
    return kind.from_pretrained(folder, model_max_length=POSITIONS)  # type: ignore[no-any-return]


def _model(plan: Plan, tokenizer: PreTrainedTokenizerFast) -> Any:
    config, model = (RobertaConfig, RobertaForMaskedLM) if plan.bpe else (BertConfig, BertForMaskedLM)
    return model(
        config(
            vocab_size=len(tokenizer),
            hidden_size=plan.width,
            num_hidden_layers=plan.layers,
            num_attention_heads=plan.width // 64,
            intermediate_size=4 * plan.width,
            max_position_embeddings=POSITIONS + 2 * plan.bpe,  # RoBERTa counts positions from 2
            type_vocab_size=1 if plan.bpe else 2,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            initializer_range=plan.width**-0.5,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def _blocks(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> Iterator[list[int]]:
    """[CLS], then texts with [SEP] after each, cut every BLOCK tokens."""
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    block = [first]
    for start in range(0, len(texts), 1000):
        for ids in tokenizer(texts[start : start + 1000], add_special_tokens=False, verbose=False).input_ids:
            for token in (*ids, last):
                block.append(token)
                if len(block) == BLOCK:
                    yield block
                    block = [first]
