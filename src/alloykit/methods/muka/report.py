"""MUKA's warnings."""

from __future__ import annotations

from alloykit.labels import LabelSpace
from alloykit.methods.muka.options import MukaOptions
from alloykit.methods.requirements import unequal_counts


def muka_warnings(space: LabelSpace, options: MukaOptions) -> list[str]:
    """A warning if the teachers' numbers of labels differ much, because normalised entropy is then not comparable between them."""
    unequal = unequal_counts(space)
    if options.confidence != "entropy" or unequal is None:
        return []
    return [
        f"{unequal}: normalised entropy is not comparable between them "
        "(0.9 on the top label is confidence .53 of 2 labels and .82 of 50). Consider `method: {confidence: percentile}`."
    ]
