"""The labels of a classifier, from its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alloykit.errors import AlloyError
from alloykit.models.classifier_head import check_classifier_head
from alloykit.models.questions import KEY as QUESTIONS_KEY
from alloykit.names import rename


def labels_of_config(config: Any, renamed: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The label names of a transformers configuration in the order of the logits, after the recipe's renaming. name: the teacher's.

    AlloyError for a model that cannot be a teacher: a head for numbers, fewer than two labels, no classifier.
    """
    check_classifier_head(config, f"as teacher '{name}'")
    if (asked := getattr(config, QUESTIONS_KEY, None)) is not None:
        raise AlloyError(
            expected=f"a classifier that answers one question as teacher '{name}'",
            got=f"one that answers {len(asked) if isinstance(asked, list) else 'several'}",
            hint="Name the student of one question in its run folder, such as RUN/questions/NAME/student.",
        )
    heads = config.architectures or []
    if heads and not any("SequenceClassification" in head for head in heads):
        raise AlloyError(
            expected=f"a sequence-classification model as teacher '{name}'",
            got=", ".join(heads),
            hint="Fine-tune it first, for instance with `alloykit teach`. A SetFit model is a teacher in Python: pass the loaded model.",
        )
    return rename([config.id2label[i] for i in range(config.num_labels)], renamed, name)
