"""Data sets, and the parts that a seed draws from them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import datasets

from benchmarks.harness.profiles import Profile

FOREIGN = "wiki_sentences"  # Wikipedia sentences: no teacher learned from them, though some touch a label's topic
FOREIGN_SHARE = 0.25


@dataclass(frozen=True)
class DataSet:
    """A labelled set. `labels`: names of the integer labels. `order`: how MUKA's Table 7 sorts them, or their topics (ours), if otherwise. `pairs`: each text
    has a second one."""

    name: str
    title: str
    labels: tuple[str, ...]
    order: tuple[str, ...] = ()
    pairs: bool = False

    def split(self, teachers: int) -> list[list[str]]:
        """MUKA, Appendix A: the sorted labels cut evenly; the last teacher takes what is left."""
        labels, size = self.order or self.labels, len(self.labels) // teachers
        cuts = [i * size for i in range(teachers)] + [len(labels)]
        return [list(labels[a:b]) for a, b in pairwise(cuts)]


AG_NEWS = DataSet("ag_news", "AG News", ("World", "Sports", "Business", "Sci/Tech"))
ABSTRACTS = DataSet("abstracts5", "5Abstracts", ("Business", "CSAI", "Law", "Sociology", "Trans"))
SNIPPETS = DataSet(
    "google_snippets",
    "Google Snippets",
    (
        "Business",
        "Computers",
        "Culture-Arts-Entertainment",
        "Education-Science",
        "Engineering",
        "Health",
        "Politics-Society",
        "Sports",
    ),
)
THUCNEWS = DataSet(  # titles; society and stocks stand where the paper's set has Furniture and Fashion
    "thucnews_titles",
    "THUCNews titles",
    ("finance", "realty", "stocks", "education", "science", "society", "politics", "sports", "game", "entertainment"),
    ("sports", "entertainment", "society", "realty", "education", "stocks", "politics", "game", "science", "finance"),
)
ENTAILS = ("entailment", "not_entailment")
TASKS = (
    DataSet("rte", "RTE", ENTAILS, pairs=True),
    DataSet("mrpc", "MRPC", ("not_equivalent", "equivalent"), pairs=True),
    DataSet("sst2", "SST-2", ("negative", "positive")),
    DataSet("qnli_10k", "QNLI", ENTAILS, pairs=True),
    DataSet("mnli_10k", "MNLI", ("entailment", "neutral", "contradiction"), pairs=True),
    DataSet("qqp_10k", "QQP", ("not_duplicate", "duplicate"), pairs=True),
)
OHSUMED = DataSet(
    "ohsumed",
    "OhSumed",
    (
        "Bacterial Infections and Mycoses",
        "Virus Diseases",
        "Parasitic Diseases",
        "Neoplasms",
        "Musculoskeletal Diseases",
        "Digestive System Diseases",
        "Stomatognathic Diseases",
        "Respiratory Tract Diseases",
        "Otorhinolaryngologic Diseases",
        "Nervous System Diseases",
        "Eye Diseases",
        "Urologic and Male Genital Diseases",
        "Female Genital Diseases and Pregnancy Complications",
        "Cardiovascular Diseases",
        "Hemic and Lymphatic Diseases",
        "Neonatal Diseases and Abnormalities",
        "Skin and Connective Tissue Diseases",
        "Nutritional and Metabolic Diseases",
        "Endocrine Diseases",
        "Immunologic Diseases",
        "Disorders of Environmental Origin",
        "Animal Diseases",
        "Pathological Conditions, Signs and Symptoms",
    ),
)
BANKING77 = DataSet(
    "banking77",
    "Banking77",
    (
        "card_arrival",
        "card_linking",
        "exchange_rate",
        "card_payment_wrong_exchange_rate",
        "extra_charge_on_statement",
        "pending_cash_withdrawal",
        "fiat_currency_support",
        "card_delivery_estimate",
        "automatic_top_up",
        "card_not_working",
        "exchange_via_app",
        "lost_or_stolen_card",
        "age_limit",
        "pin_blocked",
        "contactless_not_working",
        "top_up_by_bank_transfer_charge",
        "pending_top_up",
        "cancel_transfer",
        "top_up_limits",
        "wrong_amount_of_cash_received",
        "card_payment_fee_charged",
        "transfer_not_received_by_recipient",
        "supported_cards_and_currencies",
        "getting_virtual_card",
        "card_acceptance",
        "top_up_reverted",
        "balance_not_updated_after_cheque_or_cash_deposit",
        "card_payment_not_recognised",
        "edit_personal_details",
        "why_verify_identity",
        "unable_to_verify_identity",
        "get_physical_card",
        "visa_or_mastercard",
        "topping_up_by_card",
        "disposable_card_limits",
        "compromised_card",
        "atm_support",
        "direct_debit_payment_not_recognised",
        "passcode_forgotten",
        "declined_cash_withdrawal",
        "pending_card_payment",
        "lost_or_stolen_phone",
        "request_refund",
        "declined_transfer",
        "Refund_not_showing_up",
        "declined_card_payment",
        "pending_transfer",
        "terminate_account",
        "card_swallowed",
        "transaction_charged_twice",
        "verify_source_of_funds",
        "transfer_timing",
        "reverted_card_payment?",
        "change_pin",
        "beneficiary_not_allowed",
        "transfer_fee_charged",
        "receiving_money",
        "failed_transfer",
        "transfer_into_account",
        "verify_top_up",
        "getting_spare_card",
        "top_up_by_cash_or_cheque",
        "order_physical_card",
        "virtual_card_not_working",
        "wrong_exchange_rate_for_cash_withdrawal",
        "get_disposable_virtual_card",
        "top_up_failed",
        "balance_not_updated_after_bank_transfer",
        "cash_withdrawal_not_recognised",
        "exchange_charge",
        "top_up_by_card_charge",
        "activate_my_card",
        "cash_withdrawal_charge",
        "card_about_to_expire",
        "apple_pay_or_google_pay",
        "verify_my_identity",
        "country_support",
    ),
    (
        # cards ordered and delivered
        "card_arrival",
        "card_delivery_estimate",
        "order_physical_card",
        "get_physical_card",
        "getting_spare_card",
        "getting_virtual_card",
        "get_disposable_virtual_card",
        "disposable_card_limits",
        "activate_my_card",
        "card_linking",
        "visa_or_mastercard",
        "supported_cards_and_currencies",
        "card_acceptance",
        "apple_pay_or_google_pay",
        # cards that do not work or are lost
        "card_not_working",
        "virtual_card_not_working",
        "contactless_not_working",
        "card_swallowed",
        "card_about_to_expire",
        "lost_or_stolen_card",
        "compromised_card",
        "pin_blocked",
        "change_pin",
        # the account and who its owner is
        "passcode_forgotten",
        "lost_or_stolen_phone",
        "edit_personal_details",
        "verify_my_identity",
        "why_verify_identity",
        "unable_to_verify_identity",
        "verify_source_of_funds",
        "terminate_account",
        "age_limit",
        "country_support",
        # card payments
        "declined_card_payment",
        "reverted_card_payment?",
        "pending_card_payment",
        "card_payment_not_recognised",
        "card_payment_fee_charged",
        "card_payment_wrong_exchange_rate",
        "extra_charge_on_statement",
        "transaction_charged_twice",
        "direct_debit_payment_not_recognised",
        "request_refund",
        "Refund_not_showing_up",
        # cash and currencies
        "atm_support",
        "cash_withdrawal_charge",
        "cash_withdrawal_not_recognised",
        "declined_cash_withdrawal",
        "pending_cash_withdrawal",
        "wrong_amount_of_cash_received",
        "wrong_exchange_rate_for_cash_withdrawal",
        "exchange_rate",
        "exchange_charge",
        "exchange_via_app",
        "fiat_currency_support",
        # top-ups
        "automatic_top_up",
        "pending_top_up",
        "top_up_by_bank_transfer_charge",
        "top_up_by_card_charge",
        "top_up_by_cash_or_cheque",
        "top_up_failed",
        "top_up_limits",
        "top_up_reverted",
        "topping_up_by_card",
        "verify_top_up",
        # transfers
        "transfer_into_account",
        "transfer_fee_charged",
        "transfer_not_received_by_recipient",
        "transfer_timing",
        "pending_transfer",
        "failed_transfer",
        "declined_transfer",
        "cancel_transfer",
        "beneficiary_not_allowed",
        "receiving_money",
        "balance_not_updated_after_bank_transfer",
        "balance_not_updated_after_cheque_or_cash_deposit",
    ),
)
STACKOVERFLOW = DataSet(
    "stackoverflow20",
    "StackOverflow",
    (
        "wordpress",
        "oracle",
        "svn",
        "apache",
        "excel",
        "matlab",
        "visual-studio",
        "cocoa",
        "osx",
        "bash",
        "spring",
        "hibernate",
        "scala",
        "sharepoint",
        "ajax",
        "qt",
        "drupal",
        "linq",
        "haskell",
        "magento",
    ),
    (
        # web sites
        "wordpress",
        "drupal",
        "magento",
        "sharepoint",
        "ajax",
        # servers and databases
        "apache",
        "spring",
        "hibernate",
        "oracle",
        "linq",
        # computing
        "matlab",
        "excel",
        "scala",
        "haskell",
        "bash",
        # desktop and tools
        "cocoa",
        "osx",
        "qt",
        "visual-studio",
        "svn",
    ),
)
SETS = {s.name: s for s in (AG_NEWS, ABSTRACTS, SNIPPETS, THUCNEWS, *TASKS, OHSUMED, BANKING77, STACKOVERFLOW)}

# What a pool is: the students' unlabelled texts. The last three are for teachers whose data is gone (`Stages.pool`).
DATA_FREE = {
    "generated": "texts that a language model wrote for each teacher's classes",
    "random": "as many texts of words drawn from the teachers' vocabularies",
    "cross": "as many Wikipedia sentences",
}
POOLS = {
    "shared": "the teachers' own training texts, without labels (the paper's setting)",
    "disjoint": "as many other texts of the same set: no teacher has seen any of them",
    "foreign": "the teachers' own training texts, a quarter of them replaced by Wikipedia sentences",
}
UNSEEN_FOREIGN = {
    "foreign10": 0.1,
    "foreign50": 0.5,
}  # texts of "disjoint", this share of them replaced by Wikipedia sentences
SKEWED = {  # other texts of the set, so many times as many of the first, or the last, teacher's labels as of all others'
    "skew5-first": (0, 5),
    "skew5-last": (-1, 5),
    "skew20-first": (0, 20),
    "skew20-last": (-1, 20),
}
NATURAL = "natural"  # other texts of the set, label frequencies proportional to 1 / rank; its test texts have the same frequencies
LEAST = 3  # texts of every label in it, where there are so many
REACH = 6  # pools and teachers draw from the first so many times `texts` rows of a seed's order


class Files:
    """The parts of a data set for one seed, written once as Parquet files under `folder`: text, and the label's name."""

    def __init__(self, data: Path, folder: Path, dataset: DataSet, profile: Profile, seed: int) -> None:
        self.data, self.folder, self.dataset, self.profile, self.seed = data, folder, dataset, profile, seed

    def teachers(self, pool: str) -> Path:
        """The texts that the teachers learn from."""
        return self._part("teachers" + ("-half" if self._halved(pool) else ""), self._orders(pool)[0])

    def pool(self, pool: str) -> Path:
        """The students' texts, with labels where they have one; students are not shown them."""
        own, other = self._orders(pool)
        if pool == "shared":
            return self._part("teachers", own)
        if pool == "disjoint":
            return self._part("others", other)
        rows, share = (other, UNSEEN_FOREIGN[pool]) if pool in UNSEEN_FOREIGN else (own, FOREIGN_SHARE)
        foreign = round(share * len(rows))
        return self._mixed(pool, rows[: len(rows) - foreign], foreign)

    def skewed(self, pool: str, labels: Container[str], ratio: int) -> Path:
        """As many texts as in other pools, or as the rarer side allows; `ratio` times as many of these labels as of the rest."""
        size = len(self._orders(pool)[0])
        sides: tuple[list[int], list[int]] = ([], [])
        for row in self._unseen(size):
            sides[self.dataset.labels[self._answers[row]] not in labels].append(row)
        few = min(round(size / (1 + ratio)), len(sides[0]) // ratio, len(sides[1]))
        rows = [*sides[0][: few * ratio], *sides[1][:few]]
        return self._part(pool, random.Random(f"{pool} {self.seed}").sample(rows, len(rows)))

    def natural(self) -> Path:
        """At most as many texts as in other pools, skewed as labels often are: the seed draws an order of the labels, and the label of rank k
        has a share proportional to 1 / k, at least LEAST texts, and at most as many as there are."""
        size = len(self._orders(NATURAL)[0])
        return self._part(NATURAL, self._by_rank(self._unseen(size), self._answers, size))

    def natural_test(self) -> Path:
        """Test texts with the same order of the labels, other ones for every seed."""
        answers = list(read(self.data / self.dataset.name / "test.parquet")["label"])
        rows = random.Random(f"natural test {self.seed}").sample(range(len(answers)), len(answers))
        size = min(self.profile.test or len(answers), len(answers))
        return self._part("test-natural", self._by_rank(rows, answers, size), "test")

    def known_texts(self) -> list[str]:
        """Every text of which a part of this seed may be made."""
        folder, size = self.data / self.dataset.name, len(self._orders("shared")[0])
        tables = [read(folder / "train.parquet").select(self._order(size)[: REACH * size])]
        tables += [read(folder / f"{part}.parquet") for part in ("validation", "test")]
        columns = ("text", "text_pair") if self.dataset.pairs else ("text",)
        return [text for table in tables for column in columns for text in table[column]]

    def _by_rank(self, rows: list[int], answers: list[int], size: int) -> list[int]:
        """The first rows of every label, as many as its rank says, in a new order."""
        labels = sorted(set(answers))
        draw = random.Random(f"{NATURAL} {self.seed}")
        ranked, all_ranks = draw.sample(labels, len(labels)), sum(1 / k for k in range(1, len(labels) + 1))
        kept: list[int] = []
        for rank, label in enumerate(ranked, 1):
            there = [row for row in rows if answers[row] == label]
            kept += there[: max(LEAST, round(size / rank / all_ranks))]
        return draw.sample(kept, len(kept))

    def foreign(self, n: int) -> datasets.Dataset:
        """n Wikipedia sentences, other ones for every seed."""
        table = read(self.data / FOREIGN / "train.parquet")
        rows = random.Random(f"foreign {self.seed}").sample(range(len(table)), n)
        return table.select(rows).select_columns(["text"])

    def test(self) -> Path:
        """The test texts: the same for every seed."""
        table = read(self.data / self.dataset.name / "test.parquet")
        n = min(self.profile.test or len(table), len(table))
        return self._part("test", random.Random("test").sample(range(len(table)), n), "test")

    def validation(self) -> Path:
        """Labelled texts: as many as the profile says; all there are where it takes all training texts; else as many as the rule without
        labels holds out of a pool (MUKA: 5 % of the training texts)."""
        table, n = read(self.data / self.dataset.name / "validation.parquet"), len(self._orders("shared")[0])
        size = self.profile.validation or (len(table) if self.profile.texts is None else round(0.05 * n))
        rows = random.Random(f"validation {self.seed}").sample(range(len(table)), min(len(table), size))
        return self._part("validation", rows, "validation")

    def _halved(self, pool: str) -> bool:
        return self.profile.texts is None and (
            pool in ("disjoint", NATURAL) or pool in UNSEEN_FOREIGN or pool in SKEWED
        )

    def _orders(self, pool: str) -> tuple[list[int], list[int]]:
        """Rows of the training file: the teachers' own, and as many others."""
        n = len(self._answers)
        size = n // 2 if self._halved(pool) else min(self.profile.texts or n, n)
        order = self._order(size)
        return order[:size], order[size : 2 * size]

    def _unseen(self, size: int) -> list[int]:
        """Rows of the training file from which no teacher learned."""
        return self._order(size)[size : REACH * size]

    @cached_property
    def _answers(self) -> list[int]:
        return list(read(self.data / self.dataset.name / "train.parquet")["label"])

    def _order(self, size: int) -> list[int]:
        """A seed's own order of all rows. Teachers cannot learn a label without a text: where the first `size` rows have none of a
        label, its next one and the last of them that can be spared change places."""
        n, answers = len(self._answers), self._answers
        order = random.Random(f"texts {self.seed}").sample(range(n), n)
        counts = Counter(answers[row] for row in order[:size])
        for label in (label for label in sorted(set(answers)) if not counts[label]):
            there = next(k for k in range(size, n) if answers[order[k]] == label)
            here = next(k for k in reversed(range(size)) if counts[answers[order[k]]] > 1)
            counts[answers[order[here]]] -= 1
            counts[label] += 1
            order[here], order[there] = order[there], order[here]
        return order

    def _named(self, rows: list[int], file: str) -> dict[str, list[str | None]]:
        table = read(self.data / self.dataset.name / f"{file}.parquet").select(rows)
        pair = {"text_pair": list(table["text_pair"])} if self.dataset.pairs else {}
        return {"text": list(table["text"]), **pair, "label": [self.dataset.labels[i] for i in table["label"]]}

    def _part(self, name: str, rows: list[int], file: str = "train") -> Path:
        target = self.folder / f"{name}.parquet"
        if not target.exists():
            write(self._named(rows, file), target)
        return target

    def _mixed(self, name: str, rows: list[int], foreign: int) -> Path:
        target = self.folder / f"{name}.parquet"
        if not target.exists():
            own = self._named(rows, "train")
            texts: list[str | None] = [*own["text"], *self.foreign(foreign)["text"]]
            labels = [*own["label"], *[None] * foreign]
            order = random.Random(f"mixed {self.seed}").sample(range(len(texts)), len(texts))
            write({"text": [texts[i] for i in order], "label": [labels[i] for i in order]}, target)
        return target


def read(path: Path) -> datasets.Dataset:
    return datasets.Dataset.from_parquet(str(path), keep_in_memory=True)


def write(columns: dict[str, list[str | None]], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    datasets.Dataset.from_dict(columns).to_parquet(str(temporary))
    temporary.replace(target)
