"""The verdict in words: what a reader should take away before looking at a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alloykit.report.figures import percent

CLEARLY = 0.05  # p after Holm's correction
HARDLY, ENOUGH = 0.1, 10  # a label found less often than this, on at least so many test texts, was not learned
SAME = 0.01  # a difference that nobody will notice
CLOSE = 0.02  # two classifiers are about equally good if the whole interval of their difference is within this


@dataclass(frozen=True)
class Verdict:
    """`mood`: good, mixed, poor or unknown. `headline`: one sentence. `points`: the reasons, most important first."""

    mood: str
    headline: str
    points: list[str]


def verdict(metrics: Mapping[str, Any]) -> Verdict:
    """Judge a run by its metrics.json."""
    if not metrics:
        return Verdict("unknown", "This run is not finished: there is nothing to judge yet.", ["Run its recipe again."])
    found = metrics.get("evaluation")
    return _tested(metrics, found) if found else _untested(metrics)


def _tested(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict:
    scores, ours = found["scores"], found["judged"]
    who = "The student" if ours == "student" else f"The {ours}"
    accuracy = scores[ours]["accuracy"]
    low, high = scores[ours]["interval"]
    rivals = {name: s for name, s in found["significance"].items() if name in scores}
    best = max(rivals, key=lambda name: scores[name]["accuracy"]) if rivals else None
    points = [
        f"{who}'s accuracy is {percent(accuracy)} on {found['texts']:,} labelled texts (95 % interval {percent(low)} to "
        f"{percent(high)}): about {_wrong(1 - accuracy)}."
    ]
    mood, headline = "good", f"{who} was tested, with nothing to compare it to."
    if best is not None:
        gain = rivals[best]
        clear = gain["p_holm"] < CLEARLY
        called = "the best teacher alone" if best.startswith("teacher ") else f"the {best}"
        everywhere = all(r["p_holm"] < CLEARLY and r["difference"] > 0 for r in rivals.values())
        if clear and gain["difference"] > 0 and not everywhere:
            mood, headline = (
                "mixed",
                f"{who} is better than {called}, but not significantly better than every alternative.",
            )
        elif clear and gain["difference"] > 0:
            mood, headline = "good", f"{who} is better than every alternative."
        elif clear:
            mood, headline = "poor", f"{called[0].upper()}{called[1:]} is better than {who.lower()}."
        elif gain["low"] > -CLOSE:
            mood = "mixed"
            headline = f"{who} is about as good as {called}{'' if gain['high'] < CLOSE else ', or better'}."
        else:
            mood = "mixed"
            headline = (
                f"{who} has {percent(accuracy)}, {called} {percent(scores[best]['accuracy'])}: no significant difference on "
                f"{found['texts']:,} texts."
            )
        n = len(rivals)
        points.append(
            f"The accuracy of the best alternative, {called}, is {percent(scores[best]['accuracy'])}. Difference: "
            f"{_points(gain['difference'])} points (95 % interval {_points(gain['low'])} to {_points(gain['high'])}, "
            f"p {_p(gain['p_holm'])} after Holm's correction for {n} comparison{'s' if n > 1 else ''})."
        )
        if ours == "student":
            points.append(
                "Intervals and p come from the test texts alone. They are about this one training: with another seed the student "
                "would differ."
            )
    lost = _lost(metrics, found)
    if lost and mood == "good":
        mood, headline = (
            "mixed",
            f"{headline[:-1]}, but it has not learned {len(lost)} of {len(metrics['labels'])} labels.",
        )
    if accuracy < 0.5:
        points.append(("Better is not good: it" if mood == "good" else "It") + " is wrong more often than right.")
        mood = "poor" if mood == "good" else mood
    limits = _training(metrics, scores, ours) + _routing(scores)
    return Verdict(mood, headline, points + _labels(metrics, found) + _trust(found, ours) + limits + _warned(metrics))


def _recalls(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> list[tuple[float, str, int]]:
    """(share found, label, test texts) of the labels that occur, the weakest first."""
    rows = enumerate(zip(metrics["labels"], found["confusion"], strict=True))
    return sorted((row[i] / sum(row), label, sum(row)) for i, (label, row) in rows if sum(row))


def _lost(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Labels that are hardly ever answered when they should be, where the test has enough texts to say so."""
    return [label for share, label, n in _recalls(metrics, found) if share < HARDLY and n >= ENOUGH]


def _labels(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    weak = [f"{label} ({percent(r, 0)} of {n:,})" for r, label, n in _recalls(metrics, found)[:3] if r < 0.7]
    return [f"Weakest labels: {', '.join(weak)}."] if weak else []


def _trust(found: Mapping[str, Any], ours: str) -> list[str]:
    r = found["reliability"][ours]
    over = r["overconfidence"]
    if abs(over) < 0.03 and r["ece"] >= 0.05:
        return [f"It is too sure of some texts and not sure enough of others (calibration error {percent(r['ece'])})."]
    if abs(over) < 0.03:
        return [f"Its probabilities can be taken at face value (calibration error {percent(r['ece'])})."]
    word = "surer of itself than it should be" if over > 0 else "less sure of itself than it could be"
    line = f"It is {word}: on average by {abs(100 * over):.0f} points (calibration error {percent(r['ece'])})"
    tempered = found["reliability"].get(f"{ours}, tempered")
    return [
        f"{line}; the temperature found without labels makes that {percent(tempered['ece'])}."
        if tempered
        else f"{line}."
    ]


def _training(metrics: Mapping[str, Any], scores: Mapping[str, Any], ours: str) -> list[str]:
    """What the student is short of the targets that it learned from, where that is more than anybody would overlook."""
    routing = scores.get("routing")
    if ours != "student" or not routing:
        return []
    short = routing["accuracy"] - scores[ours]["accuracy"]
    if short <= SAME:
        return []
    ceiling = scores.get("oracle routing")
    left = None if ceiling is None else ceiling["accuracy"] - routing["accuracy"]
    beside = (
        ""
        if left is None
        else f" Training costs more than routing, which is {100 * left:.1f} points below the best possible."
        if short > left
        else f" Routing costs more: it is {100 * left:.1f} points below the best possible."
    )
    advice = (metrics.get("learning") or {}).get("advice")
    return [
        f"The student is {100 * short:.1f} points less accurate than its routing ({percent(routing['accuracy'])}), which is what it "
        f"learned from: that is lost in training.{beside}"
        + (f" {advice}" if advice and (left is None or short > left) else "")
    ]


def _routing(scores: Mapping[str, Any]) -> list[str]:
    routing, ceiling = scores.get("routing"), scores.get("oracle routing")
    if not routing or not ceiling or "right_teacher" not in routing:
        return []
    left = ceiling["accuracy"] - routing["accuracy"]
    return [
        f"The method gave the most weight to a teacher that knows the label on {percent(routing['right_teacher'], 0)} of the "
        f"texts. Had it always, the teachers' own answers would be right on {percent(ceiling['accuracy'])}, "
        f"{100 * left:.1f} points more than its routing."
    ]


def _untested(metrics: Mapping[str, Any]) -> Verdict:
    points = [
        "No labelled texts were given. What follows says how the teachers and the student behave, not whether they are right."
    ]
    summary, view, agreement = metrics.get("supervision"), metrics.get("student"), metrics.get("agreement")
    if summary:
        share = summary["effective_sample_size"] / summary["texts"]
        points.append(
            f"The supervision is worth {summary['effective_sample_size']:,.0f} of {summary['texts']:,} texts "
            f"({percent(share, 0)}): the other texts' teachers are about equally sure, and count little."
        )
    if agreement:
        sure = agreement["sure_teachers"]
        total = sum(sure.values()) or 1
        points.append(
            f"Exactly one teacher is sure on {percent(sure['one'] / total, 0)} of the texts, several are on "
            f"{percent(sure['several'] / total, 0)}, none is on {percent(sure['none'] / total, 0)}."
        )
    if view and view.get("same_as_supervision") is not None:
        points.append(
            f"On {view['unseen_texts']:,} texts that it did not train on, the student gives the supervision's answer in "
            f"{percent(view['same_as_supervision'], 0)} of the weight."
        )
    points.append(
        "To know: label about 300 texts, best drawn at random, and run `alloykit evaluate RUN --data labelled.csv`."
    )
    return Verdict("unknown", "Nobody has tested this student yet.", points + _warned(metrics))


def _warned(metrics: Mapping[str, Any]) -> list[str]:
    n = len(metrics.get("warnings") or [])
    return [f"There {'is one warning' if n == 1 else f'are {n} warnings'}: see below."] if n else []


def _wrong(share: float) -> str:
    if share > 0.5:
        return f"{percent(share, 0)} are wrong"
    return f"one in {1 / share:.0f} is wrong" if share > 0.005 else "fewer than one in 200 are wrong"


def _points(share: float) -> str:
    points = round(100 * share, 1) + 0.0  # no minus zero
    return f"{points:+.1f}".replace("-", "−")


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"
