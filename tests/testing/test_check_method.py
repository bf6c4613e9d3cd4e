"""check_method: each way to break the contract is found, and the message names the method and the rule."""

from dataclasses import replace

import pytest
import torch
from pydantic import ConfigDict

from alloykit.methods.protocol import Method, MethodOptions, Needs, SkippedStep, Supervision, uniform_weights
from alloykit.testing import RULES, check_method, check_rule


class Mean(Method):
    """The mean of the teachers' answers: keeps to every rule."""

    name, title, reference = "mean", "The mean of the answers", "a test"

    def supervise(self, rows, context):
        w = rows.equal_weights()
        parts = [w[:, i, None] * context.space.scatter(i, t.probabilities()) for i, t in enumerate(rows.teachers)]
        return Supervision(sum(parts), uniform_weights(parts[0]))


class Nameless(Mean):
    title = ""


class Loose(MethodOptions):
    model_config = ConfigDict(extra="ignore")


class Forgiving(Mean):
    Options = Loose


class Learnless(Mean):
    needs = Needs(teachers=0)


class Unseeded(Mean):
    def fit(self, pool, context):
        return {"noise": torch.rand(3)}


class Doubled(Mean):
    def supervise(self, rows, context):
        found = super().supervise(rows, context)
        return Supervision(2 * found.targets, found.weights)


class Certain(Mean):
    """log 0 where a teacher is certain."""

    def loss(self, inputs):
        return {"ratio": (inputs.target.targets / inputs.student.logits.softmax(-1)).log().sum(-1)}


class Precise(Mean):
    """Runs on a CPU and on CUDA, but not on Apple's GPUs."""

    def loss(self, inputs):
        return {"kl": super().loss(inputs)["kl"].double().float()}


class Coupled(Mean):
    def loss(self, inputs):
        return {"mean": super().loss(inputs)["kl"].mean()}


class Detached(Mean):
    def loss(self, inputs):
        return {"kl": super().loss(inputs)["kl"].detach()}


class FirstTeacher(Mean):
    def supervise(self, rows, context):
        targets = context.space.scatter(0, rows.teachers[0].probabilities())
        return Supervision(targets, uniform_weights(targets))


class Relative(Mean):
    def supervise(self, rows, context):
        found = super().supervise(rows, context)
        top = found.targets.amax(-1)
        return Supervision(found.targets, top / top.mean())


class Forgetful(Mean):
    """Its loss reads states, and it says that it does not."""

    loss_reads_states = False

    @property
    def needs(self):
        return Needs(pooled_states=True)

    def teacher_layers(self, context):
        return tuple((1,) for _ in context.teachers)

    def loss(self, inputs):
        sizes = sum(t.pooled_states[0].float().abs().mean(-1) for t in inputs.rows.teachers)
        return {"kl": sizes.to(inputs.student.logits.device) * super().loss(inputs)["kl"]}


class Cheating(Mean):
    def supervise(self, rows, context):
        targets = torch.nn.functional.one_hot(rows.labels, context.space.size).float()
        return Supervision(targets, uniform_weights(targets))


class Undeclared(Mean):
    def supervise(self, rows, context):
        assert rows.teachers[0].pooled_states is not None, "no pooled states"
        return super().supervise(rows, context)


class Deaf(Mean):
    """Takes the uniform logits of a teacher without an answer for an answer."""

    def supervise(self, rows, context):
        targets = torch.stack([context.space.scatter(i, t.probabilities()) for i, t in enumerate(rows.teachers)])
        return Supervision(targets.mean(0), uniform_weights(targets[0]))


class Interrupting(Mean):
    """Counts the answer of a teacher that abstains."""

    def supervise(self, rows, context):
        found = super().supervise(
            replace(rows, teachers=tuple(replace(t, abstains=None) for t in rows.teachers)), context
        )
        return replace(found, weights=uniform_weights(found.targets))


class Talkative(Mean):
    def fit_report(self, context, teachers):
        return {"text": "all is well"}


def test_a_method_that_keeps_to_it():
    check_method(Mean)


@pytest.mark.parametrize(
    ("broken", "rule", "words"),
    [
        (Nameless, "names and options", "`title` must be a text"),
        (Forgiving, "names and options", "an unknown option is accepted"),
        (Learnless, "needs and phases", "learns from nothing"),
        (Unseeded, "fit repeats", "another 'noise' at the second call"),
        (Doubled, "targets and weights", "the sum of each row of targets"),
        (Certain, "finite gradients", "term 'ratio' is not finite"),
        (Coupled, "finite gradients", "say so with `batch_coupled`"),
        (Detached, "finite gradients", "give a SkippedStep"),
        (Precise, "devices without float64", "it raised TypeError: float64 is computed on the student's device"),
        (FirstTeacher, "order of teachers", "targets differ"),
        (Relative, "independence of the batch", "weights differ"),
        (Forgetful, "supervision before the training", "it raised TypeError"),
        (Cheating, "labels only if needed", "TypeError"),
        (Undeclared, "targets and weights", "no pooled states"),
        (Deaf, "teachers without an answer", "labels that no teacher with an answer knows have a mass"),
        (
            Interrupting,
            "teachers that abstain",
            "some teachers abstain: labels that no teacher with an answer knows have a mass",
        ),
        (Talkative, "reports", "must give a MethodReport; got dict"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_breaks_it_is_named(broken, rule, words):
    with pytest.raises(AssertionError, match="(?s)breaks the rule") as caught:
        check_method(broken)
    message = str(caught.value)
    assert message.startswith(f"method 'mean' breaks the rule '{rule}': ")
    assert words in message


def test_a_rule_alone_and_rules_that_shall_not_hold():
    with pytest.raises(AssertionError, match="weights differ"):
        check_rule(Relative, "independence of the batch")
    check_rule(Relative, "reports")
    check_method(Relative, skip=["independence of the batch", "supervision before the training"])
    with pytest.raises(ValueError, match="there is no rule 'speed'"):
        check_method(Mean, skip=["speed"])
    assert len(RULES) == 13


def test_a_skipped_step_needs_no_gradient():
    class Waiting(Mean):
        def loss(self, inputs):
            return SkippedStep(kl=super().loss(inputs)["kl"].detach())

    check_rule(Waiting, "finite gradients")


def test_an_option_that_names_a_teacher_follows_its_order():
    class Options(MethodOptions):
        favourite: int = 0

    class Favourite(Mean):
        def supervise(self, rows, context):
            i = self.options.favourite
            targets, counts = context.space.scatter(i, rows.teachers[i].probabilities()), rows.teachers[i].counts
            return Supervision(targets, uniform_weights(targets) if counts is None else counts.float())

    Favourite.Options = Options
    with pytest.raises(AssertionError, match="order of teachers"):
        check_method(Favourite, {"favourite": 2})

    def follow(options, order):
        return options | {"favourite": order.index(options["favourite"])}

    check_method(Favourite, {"favourite": 2}, reorder=follow)
