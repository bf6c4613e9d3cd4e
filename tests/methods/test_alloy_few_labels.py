"""What labelled texts add to Alloy (docs/methods/alloy.md, Eqs. 13 and 14), against plain float64 loops."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from constructed_pools import Pool

from alloykit.labels import LabelSpace
from alloykit.methods.alloy import few_labels
from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.few_labels import ALPHA, BETA, FOLDS, FewLabels, LabelClassifier
from alloykit.methods.alloy.method import Alloy
from alloykit.methods.alloy.mixture import ANCHOR, Anchors, LabelMixture, View
from alloykit.methods.alloy.routing import teacher_weights
from alloykit.methods.alloy.target import target
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.testing.rows import RowSource, unanswered

SPACE = LabelSpace.union([["a", "b"], ["c", "d"]])
OWNERS = SPACE.has_label()


def drawn(n: int, seed: int, apart: float = 2.5) -> tuple[View, torch.Tensor]:
    """Texts in four clusters. The teachers answer well; their energies know little."""
    g = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 4
    z = apart * torch.nn.functional.one_hot(labels, 4).double() + torch.randn(n, 4, generator=g).double()
    right = (torch.arange(4) % 2 == (labels % 2)[:, None]).double()
    answers = (0.8 * right + 0.2 * (1 - right)).log()
    return View(z, answers, torch.randn(n, 2, generator=g).double()), labels


def test_an_anchor_is_three_texts_with_a_known_label() -> None:
    """The last step of Eqs. 3–6, with counts by hand."""
    view, _ = drawn(40, 0)
    seen, labels = drawn(8, 1)
    fitted = LabelMixture.fit(view, OWNERS, Anchors(seen, labels))
    r = torch.softmax(fitted.scores(view, OWNERS), -1)
    for c in range(4):
        mass = sum(float(r[x, c]) ** 2 for x in range(40)) + ANCHOR * sum(int(label) == c for label in labels)
        total = sum(float(r[x, c]) ** 2 * view.z[x] for x in range(40)) + sum(
            ANCHOR * seen.z[x] for x in range(8) if int(labels[x]) == c
        )
        # The means are those of the responsibilities one step earlier, which has converged here.
        torch.testing.assert_close(fitted.means[c], total / mass, atol=2e-2, rtol=2e-2)
    plain = LabelMixture.fit(view, OWNERS)
    assert (plain.means - fitted.means).abs().max() > 1e-3
    nothing = Anchors(seen.part(torch.arange(0)), labels[:0])
    torch.testing.assert_close(LabelMixture.fit(view, OWNERS, nothing).means, plain.means)


def test_anchors_turn_two_labels_that_the_start_mixed_up() -> None:
    """Energies that name the wrong teacher for every text: two labelled texts for each label put it right."""
    view, labels = drawn(200, 0)
    owner = (labels >= 2).long()
    wrong = View(view.z, view.answers, torch.nn.functional.one_hot(1 - owner, 2).double() * 2 - 1)
    lost = (LabelMixture.fit(wrong, OWNERS).scores(wrong, OWNERS).argmax(-1) == labels).double().mean()
    shown = torch.arange(24)
    anchored = LabelMixture.fit(wrong, OWNERS, Anchors(wrong.part(shown), labels[shown])).scores(wrong, OWNERS)
    assert float(lost) < 0.2
    assert float((anchored.argmax(-1) == labels).double().mean()) > float(lost)


def test_the_classifier() -> None:
    """Eq. 13: the gradient of the penalised log-likelihood is zero, feature by feature."""
    view, labels = drawn(24, 3)
    found = LabelClassifier.fit(Anchors(view, labels))
    features = [
        [
            *view.z[x].tolist(),
            *(max(v, -6.0) for v in view.answers[x].tolist()),
            *(2 * v for v in view.energies[x].tolist()),
        ]
        for x in range(24)
    ]
    assert found.weights.shape == (4, 10)
    for c in range(4):
        for f in range(10):
            gradient = float(found.weights[c, f])
            for x in range(24):
                logits = [
                    float(found.bias[k])
                    + sum(w * v for w, v in zip(found.weights[k].tolist(), features[x], strict=True))
                    for k in range(4)
                ]
                share = math.exp(logits[c]) / sum(map(math.exp, logits))
                gradient += 0.1 * (share - (int(labels[x]) == c)) * features[x][f]
            assert abs(gradient) < 2e-3, (c, f)
    q = found.log_probabilities(view).exp()
    assert q.sum(-1).tolist() == pytest.approx([1.0] * 24)


@pytest.mark.parametrize("shown", [[], [1], [0, 1], [0, 2, 3], [0, 1, 2, 3]])
def test_the_classifier_divides_what_the_labels_with_a_labelled_text_have(shown: list[int]) -> None:
    """Eq. 14, text by text. The other labels keep their probability."""
    view, labels = drawn(24, 3)
    at = torch.tensor([int(label) in shown for label in labels])
    classifier = LabelClassifier.fit(Anchors(view.part(at), labels[at]))
    alpha, beta = (torch.tensor(v).double() for v in (0.3, 1.7))
    few = FewLabels(classifier, alpha, beta, 0.5, len(labels[at]))
    s, q = (
        3 * torch.randn(24, 4, generator=torch.Generator().manual_seed(1)).double(),
        classifier.log_probabilities(view),
    )
    found = torch.softmax(alpha * few.scores(s, view), -1)
    for x in range(24):
        plain = [math.exp(0.3 * float(v)) for v in s[x]]
        moved = [plain[c] * math.exp(1.7 * float(q[x, c])) if c in shown else plain[c] for c in range(4)]
        if shown:
            w = sum(moved[c] for c in shown) / sum(plain[c] for c in shown)
            moved = [m / w if c in shown else m for c, m in enumerate(moved)]
            assert sum(math.exp(float(q[x, c])) for c in shown) == pytest.approx(1)
        assert found[x].tolist() == pytest.approx([m / sum(moved) for m in moved])
    if len(shown) > 1:
        named = q.masked_fill(classifier.seen == 0, -torch.inf).argmax(-1)
        assert float((named == labels)[at].double().mean()) > 0.9


@pytest.mark.parametrize("shown", [[2] * 5, [0] * 5 + [1] * 5, [2], [0], [0] * 20 + [1] * 20 + [2] * 20])
def test_labelled_texts_of_some_labels_do_not_harm_the_others(shown: list[int]) -> None:
    view, labels = drawn(200, 0)
    seen, theirs = drawn(80, 1)
    at = torch.cat([torch.nonzero(theirs == c).squeeze(1)[: shown.count(c)] for c in sorted(set(shown))])
    anchors = Anchors(seen.part(at), theirs[at])
    before = LabelMixture.fit(view, OWNERS).scores(view, OWNERS).argmax(-1)
    few = FewLabels.fit(view, anchors, OWNERS)
    after = few.scores(LabelMixture.fit(view, OWNERS, anchors).scores(view, OWNERS), view).argmax(-1)
    right = [float((named == labels).double().mean()) for named in (before, after)]
    assert right[1] > right[0] - 0.02
    assert few.accuracy > 0.5, "also if all labelled texts are in one fold"
    assert not few.covers(torch.nn.functional.one_hot(labels, 4))


@pytest.mark.slow
def test_how_much_the_labels_count() -> None:
    """Eq. 14: α and β against a grid, with the cross-fitted parts made one fold at a time."""
    view, _ = drawn(80, 0, apart=1.5)
    seen, labels = drawn(40, 1, apart=1.5)
    found = FewLabels.fit(view, Anchors(seen, labels), OWNERS)
    scores, logs = torch.zeros(40, 4).double(), torch.zeros(40, 4).double()
    position = dict.fromkeys(range(4), 0)
    fold = []
    for label in labels.tolist():
        fold.append((position[label] + label) % FOLDS)
        position[label] += 1
    for x in range(40):
        rest = torch.tensor([k for k in range(40) if fold[k] != fold[x]])
        others, one = Anchors(seen.part(rest), labels[rest]), seen.part(torch.tensor([x]))
        scores[x] = LabelMixture.fit(view, OWNERS, others).scores(one, OWNERS)[0]
        logs[x] = LabelClassifier.fit(others).log_probabilities(one)[0]

    def likelihood(alpha: float, beta: float) -> float:
        r = torch.log_softmax(alpha * scores + beta * logs, -1)
        return float(sum(r[x, int(labels[x])] for x in range(40))) / 40

    assert float(found.beta) > 0, "in this problem the classifier helps"
    best = max(likelihood(a, b) for a in np.linspace(*ALPHA, 50) for b in np.linspace(*BETA, 50))
    assert likelihood(float(found.alpha), float(found.beta)) > best - 1e-3
    named = (found.alpha * scores + found.beta * logs).argmax(-1)
    assert found.accuracy == pytest.approx(float((named == labels).double().mean()))
    mixed = found.scores(torch.zeros(40, 4).double(), seen)
    only_classifier = found.beta * found.classifier.log_probabilities(seen)
    torch.testing.assert_close(torch.softmax(found.alpha * mixed, -1), torch.softmax(only_classifier, -1))
    assert found.covers(torch.nn.functional.one_hot(labels, 4))
    again = FewLabels.of(found.state(), torch.device("cpu"))
    assert again is not None
    torch.testing.assert_close(again.scores(scores, seen), found.scores(scores, seen))
    assert FewLabels.of({}, torch.device("cpu")) is None


def test_many_labelled_texts_show_their_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    view, _ = drawn(80, 0)
    anchors = Anchors(*drawn(40, 1))
    FewLabels.fit(view, anchors, OWNERS)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(few_labels, "SLOW", 40 * 4 - 1)
    FewLabels.fit(view, anchors, OWNERS)
    assert f"classifier of the labelled texts: {FOLDS + 1} fits in " in capsys.readouterr().err


def test_labels_that_prove_nothing_do_not_count() -> None:
    """One text for every label: the classifier is fitted to less, and it may not outvote the mixture."""
    view, _ = drawn(80, 0)
    seen, labels = drawn(4, 1)
    found = FewLabels.fit(view, Anchors(seen, labels), OWNERS)
    assert float(found.beta) == 0
    one = FewLabels.fit(view, Anchors(seen.part(torch.tensor([0])), labels[:1]), OWNERS)
    assert float(one.beta) == 0
    assert one.texts == 1


def fitted_with(shown: list[int], answered: torch.Tensor | None = None) -> tuple[Alloy, Pool, Context]:
    """Alloy, fitted to a pool of four labels with ten labelled texts of each of these. answered: which teacher has an answer to which of them."""
    pool, method = Pool((30, 30, 30, 30), apart=2.0), create("alloy")
    at = [i for c in shown for i in torch.nonzero(pool.labels == c).flatten()[:10].tolist()]
    rows = replace(pool.rows(at), labels=pool.labels[at])
    labelled = RowSource(rows if answered is None else unanswered(rows, answered))
    context = Context(pool.space, teachers=(ModelShape(6, 3),) * 2, labelled=labelled)
    assert isinstance(method, Alloy)
    state = dict(method.fit(pool, context))
    return method, pool, replace(context, state=state | {"outcome": torch.tensor(ACCEPTED)})


def test_what_the_student_learns_follows_the_labelled_texts() -> None:
    """T of Eq. 12 with r of Eq. 15. The labelled texts have all labels, so the estimate of the accuracy is the mean confidence of ρ (Eq. 14)."""
    method, pool, context = fitted_with([0, 1, 2, 3])
    rows, view = pool.rows(range(len(pool))), method._seen(pool.rows(range(len(pool))), context)
    plain = ChosenMixture.of(context.state, torch.device("cpu")).scores(view, OWNERS)
    few, estimate = FewLabels.of(context.state, torch.device("cpu")), method.estimated_accuracy(context)
    assert few is not None
    assert estimate is not None
    confidence = torch.softmax(few.alpha * few.scores(plain, view), -1).amax(-1)
    assert (estimate.overall, estimate.labelled_texts) == (pytest.approx(float(confidence.mean())), 40)
    state = context.state | {"label_beta": torch.tensor(1.2).double()}  # the mixture alone is enough for this pool
    few = FewLabels.of(state, torch.device("cpu"))
    assert few is not None
    r, without = (torch.softmax(state["inverse_temperature"] * s, -1) for s in (few.scores(plain, view), plain))
    assert float((r - without).abs().max()) > 0.01
    found = method.supervise(rows, replace(context, state=state))
    wanted = target(pool.space, [t.probabilities() for t in rows.teachers], r, state["clarity"])
    torch.testing.assert_close(found.targets, wanted.float())
    torch.testing.assert_close(found.teacher_weights, teacher_weights(r, OWNERS).float())


def test_labelled_texts_of_half_the_labels_do_not_estimate_the_accuracy() -> None:
    method, _, context = fitted_with([0, 2])
    estimate = method.estimated_accuracy(context)
    assert estimate is not None
    assert (int(context.state["labelled"]), estimate.labelled_texts) == (20, 0)


def test_labelled_texts_that_nobody_who_knows_their_label_answers_are_left_out() -> None:
    answered = torch.ones(10, 2, dtype=torch.bool)
    answered[:3, 0] = False  # the first teacher knows label 0
    assert int(fitted_with([0], answered)[2].state["labelled"]) == 7
    answered[:, 0] = False
    assert "labelled" not in fitted_with([0], answered)[2].state
