"""The labelled data sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True)
class DataSet:
    """A labelled set. `labels`: names of the integer labels. `order`: how MUKA's Table 7 sorts them, or their topics (ours), if otherwise. `pairs`: each text
    has a second one. `folder`: of its files, if its name is another. `sources`: the label of each kept value of the column `source`, for files without a
    column `label`."""

    name: str
    title: str
    labels: tuple[str, ...]
    order: tuple[str, ...] = ()
    pairs: bool = False
    folder: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

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
FICTION = ("adventure", "fiction", "mystery", "romance", "science_fiction")
GENRE_OF = {  # left out: humor, lore and belles lettres, which are about anything
    "abc_rural": "farming",
    "abc_science": "science",
    "brown_editorial": "editorials",
    "brown_government": "government",
    "brown_hobbies": "hobbies",
    "brown_learned": "learned",
    "brown_news": "news",
    "brown_religion": "religion",
    "brown_reviews": "reviews",
    "state_union": "speeches",
    "wsj_sample": "finance",
    **{f"brown_{kind}": "fiction" for kind in FICTION},
}
GENRES = DataSet(  # sentences, by where they were printed or spoken; as frequent as in the corpora
    "genres", "Genres", tuple(sorted(set(GENRE_OF.values()))), folder="english_misc", sources=GENRE_OF
)
CNEWS = DataSet(
    "cnews_1k",
    "cnews",
    ("sports", "entertainment", "home", "realty", "education", "fashion", "politics", "game", "science", "finance"),
)
# Made by `benchmarks.packaged_sets`
REUTERS = DataSet(  # as frequent as in the news of 1987
    "reuters_r8", "Reuters R8", ("acq", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade")
)
NEWSGROUPS = DataSet(
    "newsgroups20",
    "20 Newsgroups",
    (
        "alt.atheism",
        "comp.graphics",
        "comp.os.ms-windows.misc",
        "comp.sys.ibm.pc.hardware",
        "comp.sys.mac.hardware",
        "comp.windows.x",
        "misc.forsale",
        "rec.autos",
        "rec.motorcycles",
        "rec.sport.baseball",
        "rec.sport.hockey",
        "sci.crypt",
        "sci.electronics",
        "sci.med",
        "sci.space",
        "soc.religion.christian",
        "talk.politics.guns",
        "talk.politics.mideast",
        "talk.politics.misc",
        "talk.religion.misc",
    ),
)
BBC_NEWS = DataSet("bbc_news", "BBC News", ("business", "entertainment", "politics", "sports", "tech"))
SLOVENE_FORUM = DataSet("slovene_forum", "Slovene forum", ("Gospodarstvo", "Politika", "Šport", "Drugo"))
WORDNET_NOUNS = DataSet(  # as frequent as in WordNet
    "wordnet_nouns",
    "WordNet nouns",
    (
        "act",
        "animal",
        "artifact",
        "attribute",
        "body",
        "cognition",
        "communication",
        "event",
        "feeling",
        "food",
        "group",
        "location",
        "motive",
        "object",
        "person",
        "phenomenon",
        "plant",
        "possession",
        "process",
        "quantity",
        "relation",
        "shape",
        "state",
        "substance",
        "time",
    ),
)
WORDNET_VERBS = DataSet(
    "wordnet_verbs",
    "WordNet verbs",
    (
        "body",
        "change",
        "cognition",
        "communication",
        "competition",
        "consumption",
        "contact",
        "creation",
        "emotion",
        "motion",
        "perception",
        "possession",
        "social",
        "stative",
        "weather",
    ),
)
LANGUAGES = DataSet(
    "languages",
    "Languages",
    (
        "ca",
        "cs",
        "da",
        "de",
        "es",
        "et",
        "fi",
        "fr",
        "hr",
        "hu",
        "id",
        "it",
        "nl",
        "pl",
        "pt",
        "ro",
        "sk",
        "sl",
        "sv",
        "tr",
        "vi",
    ),
)
SETS = {
    s.name: s
    for s in (
        AG_NEWS,
        ABSTRACTS,
        SNIPPETS,
        THUCNEWS,
        *TASKS,
        OHSUMED,
        BANKING77,
        STACKOVERFLOW,
        GENRES,
        CNEWS,
        REUTERS,
        NEWSGROUPS,
        BBC_NEWS,
        SLOVENE_FORUM,
        WORDNET_NOUNS,
        WORDNET_VERBS,
        LANGUAGES,
    )
}
