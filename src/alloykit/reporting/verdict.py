"""The verdict on a run: a status, a headline with the figures, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alloykit.evaluation.significance import ALPHA as ALPHA
from alloykit.names import counted
from alloykit.reporting.figures import percent
from alloykit.run_folder.metrics import MEAN_OF_TEACHERS

LOW_RECALL, ENOUGH = 0.1, 10  # a label with a lower recall, on at least so many test texts, was not learned
WEAK_RECALL, SHOWN = 0.7, 3  # labels with a lower recall are named, at most so many
ALTERNATIVE = 0.9  # share of the test texts that an alternative has an answer to
NEGLIGIBLE = 0.01  # a loss of accuracy that is too small to mention
EQUIVALENT = 0.02  # two classifiers are about equal if the whole interval of their difference is within this
CALIBRATED, MISCALIBRATED = 0.03, 0.05  # mean overconfidence and calibration error that are still good
EXPLAINED = {
    "routing": "the method's targets, used as a classifier",
    "ensemble": "the label with the largest output of all teachers",
}
"""What a classifier's name means, for a reader who meets it for the first time."""


@dataclass(frozen=True)
class Verdict:
    """status: good, mixed, poor or unknown. headline: one sentence with the figures. points: the reasons, the most important first."""

    status: str
    headline: str
    points: list[str]


def verdict(metrics: Mapping[str, Any]) -> Verdict:
    """Judge a run by its metrics.json."""
    if not metrics:
        return Verdict("unknown", "This run is not finished: it has no results yet.", [])
    if several := (metrics.get("multi_label") or {}).get("evaluation"):
        return _tested_labels(metrics, several)
    found = metrics.get("evaluation")
    return _tested(metrics, found) if found else _untested(metrics)


def _tested_labels(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict:
    """The verdict on a multi-label run: the F1 of the student beside that of the mean of its teachers. Earlier versions wrote no test of the difference."""
    student, mean = found["scores"].get("student"), found["scores"][MEAN_OF_TEACHERS]
    if student is None or student["micro_f1"] is None or mean["micro_f1"] is None:
        return Verdict("unknown", "Not tested: no test text has a label that is known.", _warned(metrics))
    gain = found.get("significance", {}).get(MEAN_OF_TEACHERS)
    lost = mean["micro_f1"] - student["micro_f1"] if gain is None else -gain["difference"]
    poor = student["micro_f1"] < 0.5 or (lost > 5 * NEGLIGIBLE and (gain is None or gain["p"] < ALPHA))
    status = "poor" if poor else "mixed" if lost > NEGLIGIBLE else "good"
    figures = f"Micro-F1 of the student {percent(mean['micro_f1'] - lost)}, of the {MEAN_OF_TEACHERS} {percent(mean['micro_f1'])}"
    where = counted(found["texts"], "text")
    conclusion, points = "", ["A label is given to a text if its probability is at least 0.5."]
    if gain is not None:
        if gain["texts"] < found["texts"]:
            where = f"the {gain['texts']:,} of {where} that a teacher has an answer to"
        better = f"the {MEAN_OF_TEACHERS if gain['difference'] < 0 else 'student'} is significantly better"
        conclusion = f": {better if gain['p'] < ALPHA else _no_difference(gain, 'student')}"
        points += [
            f"Difference: {points_of(gain['difference'])} points (95\u00a0% interval {points_of(gain['low'])} to {points_of(gain['high'])}, {_p(gain['p'])}).",
            "The interval and p are about this one training. Another seed gives another student.",
        ]
    if student["micro_f1"] < 0.5:  # 2 × right / (2 × right + wrong) < 1/2
        points.append("It makes more than two errors for each label that it gives correctly.")
    headline = f"{figures}{conclusion} on {where}."
    weak = [
        f"{label} ({percent(s['recall'], 0)} of {counted(s['texts'], 'text')})"
        for label, s in student["labels"].items()
        if s["texts"] >= ENOUGH and s["recall"] is not None and s["recall"] < WEAK_RECALL
    ]
    points += [f"Low recall: {', '.join(weak[:SHOWN])}."] if weak else []
    return Verdict(status, headline, points + _warned(metrics))


def alternatives(found: Mapping[str, Any]) -> list[str]:
    """The classifiers of a test besides the judged one. A teacher that has no answer to more than a tenth of the texts is no alternative."""
    return [
        name
        for name in found["significance"]
        if name in found["scores"] and compared_texts(found, name) >= ALTERNATIVE * found["texts"]
    ]


def best_alternative(found: Mapping[str, Any]) -> str | None:
    """The most accurate alternative; None where there was none."""
    rivals = alternatives(found)
    return max(rivals, key=lambda name: found["scores"][name]["accuracy"]) if rivals else None


def compared_texts(found: Mapping[str, Any], name: str) -> int:
    """How many test texts a classifier has an answer to. It is compared with the judged one on these."""
    return int(found["texts"] - found["scores"][name].get("unanswered", 0))


def training_and_routing_loss(found: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """What training and routing cost, in shares of the test texts.

    Training: accuracy of the routing less that of the student. Routing: accuracy of the oracle routing less that of the routing.
    None where it was not measured.
    """
    scores, routing = found["scores"], found["scores"].get("routing")
    if not routing:
        return None, None
    oracle = scores.get("oracle routing")
    student = scores["student"] if found["judged"] == "student" else None
    return (
        None if student is None else routing["accuracy"] - student["accuracy"],
        None if oracle is None else oracle["accuracy"] - routing["accuracy"],
    )


def recalls(metrics: Mapping[str, Any]) -> list[tuple[float, str, int]]:
    """(recall, label, test texts) of every label that occurs in the test: the lowest recall first, and of equal ones that on the most texts."""
    rows = enumerate(zip(metrics["labels"], metrics["evaluation"]["confusion"], strict=True))
    found = [(row[i] / sum(row), label, sum(row)) for i, (label, row) in rows if sum(row)]
    return sorted(found, key=lambda one: (one[0], -one[2]))


def not_learned(metrics: Mapping[str, Any]) -> list[str]:
    """Labels with a recall near 0 on enough test texts."""
    return [label for recall, label, n in recalls(metrics) if recall < LOW_RECALL and n >= ENOUGH]


def _tested(metrics: Mapping[str, Any], found: Mapping[str, Any]) -> Verdict:
    scores, judged = found["scores"], found["judged"]
    accuracy, (low, high) = scores[judged]["accuracy"], scores[judged]["interval"]
    best = best_alternative(found)
    status, conclusion = _conclusion(found, best)
    beside = accuracy if best is None else _accuracy_beside(found, best)
    figures = [f"Accuracy of the {judged} {percent(beside)}"]
    if best is not None:
        figures.append(f"of {_the(best)} {percent(scores[best]['accuracy'])}")
    headline = f"{', '.join(figures)}: {conclusion} on {counted(found['texts'], 'text')}."
    if best is not None and (only := _some_texts(found, best)):
        headline = f"{', '.join(figures)}: {conclusion}{only}."
    missing = not_learned(metrics)
    if missing and status == "good":
        status = "mixed"
        headline = f"{headline[:-1]}, but it has not learned {len(missing)} of {len(metrics['labels'])} labels."
    if accuracy < 0.5:
        status = "poor"
    points = [
        f"The accuracy of the {judged} is {percent(accuracy)} on {counted(found['texts'], 'labelled text')} (95\u00a0% interval {percent(low)} to "
        f"{percent(high)}). {_errors(1 - accuracy)}."
    ]
    if best is not None:
        points.append(_difference(found, best))
        if best != "ensemble" and "ensemble" in found["significance"] and "ensemble" in scores:
            points.append(_against_the_ensemble(found))
        if judged == "student":
            points.append("The intervals and p are about this one training. Another seed gives another student.")
    if accuracy < 0.5:
        points.append("It gives more wrong answers than correct ones.")
    losses = _training(found) + _routing(found)
    return Verdict(status, headline, points + _weak_labels(metrics) + _calibration(found) + losses + _warned(metrics))


def _accuracy_beside(found: Mapping[str, Any], rival: str) -> float:
    """The judged classifier's accuracy on the texts that the rival has an answer to."""
    if compared_texts(found, rival) == found["texts"]:
        return float(found["scores"][found["judged"]]["accuracy"])
    return float(found["scores"][rival]["accuracy"] + found["significance"][rival]["difference"])


def _some_texts(found: Mapping[str, Any], rival: str) -> str:
    """On which texts the rival is compared, with a space at its start; empty if these are all."""
    n = compared_texts(found, rival)
    return (
        "" if n == found["texts"] else f" on the {n:,} of {found['texts']:,} texts that {_the(rival)} has an answer to"
    )


def _conclusion(found: Mapping[str, Any], best: str | None) -> tuple[str, str]:
    """Status, and what the comparison with the best alternative shows."""
    judged = found["judged"]
    if best is None:
        return "good", f"no alternative to the {judged} was tested"
    rivals = [found["significance"][name] for name in alternatives(found)]
    gain = found["significance"][best]
    if gain["p_holm"] >= ALPHA:
        return "mixed", _no_difference(gain, judged)
    if gain["difference"] <= 0:
        return "poor" if gain["difference"] < -NEGLIGIBLE else "mixed", f"{_the(best)} is significantly better"
    if all(s["p_holm"] < ALPHA and s["difference"] > 0 for s in rivals):
        return "good", f"the {judged} is significantly better than every alternative"
    return "mixed", f"the {judged} is significantly better than {_the(best)}, but not than every alternative"


def _no_difference(gain: Mapping[str, Any], judged: str) -> str:
    """What a difference that is not significant shows. gain: of the judged classifier, with its interval."""
    if gain["low"] <= -EQUIVALENT:
        return "no significant difference"
    return "about equal" if gain["high"] < EQUIVALENT else f"the {judged} is equal or better"


def _difference(found: Mapping[str, Any], best: str) -> str:
    gain, n = found["significance"][best], len([name for name in found["significance"] if name in found["scores"]])
    meaning = f" ({EXPLAINED[best]})" if best in EXPLAINED else ""
    return (
        f"The best alternative is {_the(best)}{meaning} with {percent(found['scores'][best]['accuracy'])}{_some_texts(found, best)}. Difference: "
        f"{points_of(gain['difference'])} points (95\u00a0% interval {points_of(gain['low'])} to {points_of(gain['high'])}, "
        f"{_p(gain['p_holm'])} after Holm's correction for {n} comparison{'s' if n > 1 else ''})."
    )


def _against_the_ensemble(found: Mapping[str, Any]) -> str:
    """The comparison with the ensemble, which needs no student."""
    gain, accuracy = found["significance"]["ensemble"], percent(found["scores"]["ensemble"]["accuracy"])
    return (
        f"The ensemble ({EXPLAINED['ensemble']}) has {accuracy}. Difference: {points_of(gain['difference'])} points "
        f"(95\u00a0% interval {points_of(gain['low'])} to {points_of(gain['high'])}, {_p(gain['p_holm'])})."
    )


def _weak_labels(metrics: Mapping[str, Any]) -> list[str]:
    weak = [
        f"{label} ({percent(r, 0)} of {counted(n, 'text')})"
        for r, label, n in recalls(metrics)[:SHOWN]
        if r < WEAK_RECALL
    ]
    return [f"Lowest recall: {', '.join(weak)}."] if weak else []


def _calibration(found: Mapping[str, Any]) -> list[str]:
    judged = found["judged"]
    r = found["reliability"][judged]
    over, error = r["overconfidence"], f"(calibration error {percent(r['ece'])})"
    if abs(over) < CALIBRATED:
        if r["ece"] >= MISCALIBRATED:
            return [f"The {judged} is overconfident on some texts and underconfident on others {error}."]
        return [f"The probabilities of the {judged} are well calibrated {error}."]
    line = f"The {judged} is {'overconfident' if over > 0 else 'underconfident'} by {abs(100 * over):.0f} points on average {error}."
    tempered = found["reliability"].get(f"{judged}, tempered")
    if tempered:
        line += f" The temperature, which was fitted without labels, changes the calibration error to {percent(tempered['ece'])}."
    return [line]


def _training(found: Mapping[str, Any]) -> list[str]:
    """How much accuracy the student loses against its targets, if it is not negligible."""
    lost, _ = training_and_routing_loss(found)
    if lost is None or lost <= NEGLIGIBLE:
        return []
    return [
        f"Training loses {100 * lost:.1f} points: the student learned from the routing, which has an accuracy of "
        f"{percent(found['scores']['routing']['accuracy'])}."
    ]


def _routing(found: Mapping[str, Any]) -> list[str]:
    """What the routing loses against the best possible one."""
    _, lost = training_and_routing_loss(found)
    if lost is None:
        return []
    scores = found["scores"]
    line = (
        f"Routing loses {f'{100 * lost:.1f} points' if lost > NEGLIGIBLE else 'almost nothing'}: oracle routing, which asks only "
        f"teachers that know the true label, has an accuracy of {percent(scores['oracle routing']['accuracy'])}."
    )
    if "correct_teacher" in scores["routing"]:
        share = percent(scores["routing"]["correct_teacher"], 0)
        line += f" The teacher with the largest weight knows the true label of {share} of the texts."
    return [line]


def _untested(metrics: Mapping[str, Any]) -> Verdict:
    points = [
        "This page shows how the teachers and the student behave. Without labelled texts it cannot show whether they are correct."
    ]
    summary, view, agreement = metrics.get("supervision"), metrics.get("student"), metrics.get("agreement")
    if summary:
        share = summary["effective_sample_size"] / summary["texts"]
        points.append(
            f"The method weights the {summary['texts']:,} texts. They count as much as {summary['effective_sample_size']:,.0f} texts of equal weight "
            f"({percent(share, 0)}). A text has a low weight if it is uncertain which teacher knows it."
        )
    if agreement:
        confident = agreement["confident_teachers"]
        total = sum(confident.values()) or 1
        points.append(
            f"Exactly one teacher is confident on {percent(confident['one'] / total, 0)} of the texts, several teachers on "
            f"{percent(confident['several'] / total, 0)}, no teacher on {percent(confident['none'] / total, 0)}. (Confident: a probability of at least 0.9.)"
        )
    if view and view.get("same_as_supervision") is not None:
        points.append(
            f"On {view['unseen_texts']:,} texts that were not used in training, the student gives the same label as the method's targets for "
            f"{percent(view['same_as_supervision'], 0)} of the texts (counted by weight)."
        )
    headline = "Not tested: no labelled texts were given."
    if estimated := metrics.get("estimated_accuracy"):
        headline += f" Estimated accuracy of the targets: {percent(estimated['overall'], 0)}{', but it is doubtful' if estimated.get('doubt') else ''}."
        points.insert(0, _estimate(estimated))
    return Verdict("unknown", headline, points + _warned(metrics))


def _estimate(estimated: Mapping[str, Any]) -> str:
    if n := estimated["labelled_texts"]:
        return f"The method estimates the accuracy of the targets, from which the student learns, with {counted(n, 'labelled text')}: {percent(estimated['overall'], 0)}."
    said = (
        f"The method estimates the accuracy of the targets, from which the student learns, from the texts alone, without any label: {percent(estimated['overall'], 0)}.",
        estimated.get("doubt") or estimated.get("tested", ""),
        "Label some texts to be sure.",
    )
    return " ".join(filter(None, said))


def _warned(metrics: Mapping[str, Any]) -> list[str]:
    n = len(metrics.get("warnings") or [])
    return [f"This run has {n} warning{'s' if n > 1 else ''}."] if n else []


def _the(name: str) -> str:
    return name if name.startswith("teacher ") else f"the {name}"


def _errors(share: float) -> str:
    if share > 0.2:  # from here on, the steps from 1 in 4 to 1 in 3 to 1 in 2 are too large
        return f"About {percent(share, 0)} of its answers are wrong"
    return f"About 1 in {1 / share:.0f} answers is wrong" if share > 0.005 else "Fewer than 1 in 200 answers are wrong"


def points_of(share: float) -> str:
    """A difference of two shares in percentage points, with its sign."""
    points = round(100 * share, 1) + 0.0  # no minus zero
    return f"{points:+.1f}".replace("-", "−")


def _p(p: float) -> str:
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.3f}"
