"""results/mixed.md: the figures of results/mixed/*.json."""

from __future__ import annotations

from statistics import mean
from typing import Any

from alloykit.evaluation.tokenizer_statistics import LARGE, TOKENS_PER_WORD, TOKENS_PER_WORD_OF_LARGE
from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows
from benchmarks.mixed.kinds import KINDS


def write() -> None:
    lines = ["# Teachers of different kinds", ""]
    made = measured("mixed", "kinds")
    lines += ["Not measured yet.", ""] if made is None else [*_kinds(made["figures"]), *ran(made)]
    for name, title, body in (
        ("states", "States of a neutral encoder", _states),
        ("questions", "One student for two questions", _questions),
        ("words", "Tokens of a word", _words),
    ):
        made = measured("mixed", name)
        lines += [f"## {title}", ""]
        lines += ["Not measured yet.", ""] if made is None else [*body(made["figures"]), *ran(made)]
    write_atomic(RESULTS / "mixed.md", "\n".join(lines).rstrip() + "\n")


def _kinds(f: dict[str, Any]) -> list[str]:
    s, service = f["settings"], f["service"]
    body = [
        [name, f"{100 * f['same'][name]:.1f}", f"{100 * f['mixed'][name]:.1f}"]
        for name in ("ensemble", "routing", "student", "oracle routing")
        if name in f["same"] and name in f["mixed"]
    ]
    teachers = [
        [str(n), ", ".join(labels), kind] for n, (labels, kind) in enumerate(zip(f["groups"], KINDS, strict=True), 1)
    ]
    return [
        "Can teachers of four kinds teach a student together? One run has four models of transformers as teachers, the other one has one teacher of each kind, with the same labels.",
        "",
        f"Google Snippets, four teachers that know two labels each. They learned from {s['taught']:,} texts in all. The pool has {s['pool']:,} other texts without labels, "
        f"the test {s['test']} texts; {s['tokens']} tokens of each. Method: Alloy, with its defaults. Models have three layers of MiniLM. scikit-learn: TF-IDF and logistic regression, from a skops file. The stored "
        f"answers are log-probabilities of a model, and {100 * s['no_answer']:.0f} % of the texts have none. The service is a local server in the format of text-embeddings-inference.",
        "",
        *rows(["teacher", "labels", "in the mixed run"], teachers),
        "Accuracy in %, one seed (about 2 points are chance):",
        "",
        *rows(["classifier", "four models of transformers", "four kinds"], body),
        f"The mixed run was killed after {service['before_the_kill']:,} answers of the service, and started again. The service answered {service['texts']:,} different texts, and "
        f"{service['answered_again']} of them a second time. These are texts of the requests that were under way at the kill (at most 4 requests of 16 texts), and texts of its probe.",
        "",
    ]


def _states(f: dict[str, Any]) -> list[str]:
    titles, settings = f["titles"], f["settings"]
    names = list(next(iter(settings.values())))
    body = [
        [
            name,
            *(f"{_mean(settings[s][name]):.1f}" for s in titles),
            f"{mean(_mean(settings[s][name]) for s in titles):.1f}",
        ]
        for name in names
    ]
    return [
        "A teacher that is no model of transformers gives no states. Then Alloy sees only those of a neutral encoder. What does this cost? The teachers of this table have states, and Alloy sees these or others.",
        "",
        "Balanced accuracy of the targets on 600 test texts, in %; no student is trained. Teachers, texts and sizes are those of the [tables of Alloy](alloy_details.md), pool disjoint, seed "
        f"{', '.join(map(str, f['seeds']))}. Which states Alloy sees by default was chosen on AG News and 5Abstracts. Differences of about 2 points are chance.",
        "",
        *rows(["whose states Alloy sees", *titles.values(), "mean"], body),
        'The default is "both". Teachers and students are MiniLM; the other encoder is MPNet (all-mpnet-base-v2). Where teachers give no logits, as stored answers and services, '
        "Alloy takes the logarithm of the largest probability in place of the energy.",
        "",
        "Teachers that give only labels are like stored answers of a language model: one label, with the same `certainty` for all texts. Such an answer does not say whether the teacher knows the "
        "text. So the ensemble always takes the label of the first teacher. Alloy finds out from the states which teacher knows a text.",
        "",
    ]


def _questions(f: dict[str, Any]) -> list[str]:
    s, both = f["settings"], f["mean"]
    what = {
        "topic": "accuracy of the topic, %", "sentiment": "accuracy of the sentiment, %", "training_seconds": "training, s",
        "reading_seconds": f"reading {2 * s['test']:,} texts, s", "megabytes": "weights, MB",
    }  # fmt: skip
    body = []
    for key, title in what.items():
        scale = 100 if key in ("topic", "sentiment") else 1
        body.append([title, *(f"{scale * both[way][key]:.1f}" for way in ("joint", "separate"))])
    return [
        "Does one student of two questions cost accuracy?",
        "",
        f"Topic: AG News, {f['teachers']['topic']} teachers that know two labels each, joined by Alloy. Sentiment: SST-2, {f['teachers']['sentiment']} teacher. The teachers of a question learned from "
        f"{s['taught']:,} texts. The pool has {s['pool']:,} other texts of each set without labels, and is the same for all students. The test has {s['test']} texts of each set; {s['tokens']} tokens of each. Models are three "
        f"layers of MiniLM with the word pieces of these texts. Students have the default training. Mean over the students' seeds ({', '.join(map(str, s['seeds']))}):",
        "",
        *rows(["", "one student for both", "two students"], body),
    ]


def _mean(found: list[dict[str, float]]) -> float:
    return 100 * mean(each["balanced_accuracy"] for each in found)


def _words(f: dict[str, Any]) -> list[str]:
    english, languages = sorted(f["english"].values()), sorted(f["languages"].items(), key=lambda item: item[1])
    return [
        f"A run warns if a tokenizer splits the words of the texts into so many tokens that it probably does not know their language: above {TOKENS_PER_WORD} on average, and above {TOKENS_PER_WORD_OF_LARGE} with a vocabulary of more than "
        f"{LARGE:,} tokens. Here `{f['model']}`, whose vocabulary is English, reads the first {f['texts']} texts of each set and language.",
        "",
        f"English: {len(english)} sets, {english[0]:.2f} to {english[-1]:.2f} tokens per word. Other languages of the Latin script, from the set `languages`: "
        + ", ".join(f"{name} {value:.2f}" for name, value in languages)
        + f". Slovene forum: {f['forum']:.2f}.",
        "",
    ]
