"""The teachers' outputs without the states of the texts."""

from __future__ import annotations

from dataclasses import replace

from alloykit.knowledge.online.encoder_states import WithTextStates
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.outputs import Source


def without_states(source: Source) -> Source:
    """The same source, which does not read states of layers or of an encoder any more. A source of another kind stays as it is."""
    if isinstance(source, WithTextStates):
        return without_states(source.source)
    if isinstance(source, WithLabelled):
        return replace(source, pool=without_states(source.pool), labelled=without_states(source.labelled))
    return source.without_states() if isinstance(source, StoredKnowledge) else source
