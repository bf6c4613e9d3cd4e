"""Every teacher's answer to one text, and the target that the run's method forms from these answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import torch

from alloykit.data import Texts, load_texts
from alloykit.errors import AlloyError
from alloykit.finished_runs.finished_run import fitted_state, refuse_changed_teachers, refuse_code, refuse_services
from alloykit.knowledge.online.encoder_states import TextEncoder, WithTextStates
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.requirements import supervised
from alloykit.outputs import Source
from alloykit.run_folder.file_names import CACHE, RECIPE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.prepare import prepare_for_texts_to_come, stored
from alloykit.stages.recipe_texts import salt_of
from alloykit.temporary.row_index import id_blocks

Origin = Literal["stored", "computed"]


@dataclass(frozen=True)
class TeacherAnswer:
    """A teacher's probabilities of its own labels; empty if it has no answer to the text.

    `share`: how much of the target comes from it; None if the method does not say."""

    name: str
    probabilities: dict[str, float]
    share: float | None


@dataclass(frozen=True)
class Explanation:
    """`origin`: the outputs were stored by the run, or computed now. `target`: over all labels; None for a method whose target
    also depends on the true label. `weight`: how much the text counts in training."""

    origin: Origin
    teachers: list[TeacherAnswer]
    target: dict[str, float] | None
    weight: float | None


class TextExplainer:
    """Explains the target of one text at a time. For texts of the pool it uses the stored outputs, for other texts the loaded teachers."""

    def __init__(
        self,
        run: RunFolder,
        *,
        cache: str | Path | None = None,
        teachers: bool = False,
        trust_remote_code: bool = False,
        trust_url: bool = False,
    ) -> None:
        """teachers: load them all and keep them in memory, to explain texts that are not in the pool. trust_url: they may be services. AlloyError
        for an unfinished run, and for a run whose teachers are missing or were changed."""
        recipe = run.recipe
        if not trust_remote_code:
            refuse_code(recipe, run.folder / RECIPE)
        if teachers and not trust_url:
            refuse_services(recipe, run.folder / RECIPE)
        self.prepared = prepare_for_texts_to_come(recipe)
        hint = "Leave out `--teachers`: the page then shows the student's answers." if teachers else ""
        if self.prepared.method.needs.multi_label:
            raise AlloyError(expected="teachers whose labels exclude each other", got="multi-label teachers", hint=hint)
        if not self.prepared.method.needs.teachers:
            raise AlloyError(expected="a method with teachers", got=f"'{self.prepared.method.name}'", hint=hint)
        self.context = replace(self.prepared.context, state=fitted_state(run.folder))
        refuse_changed_teachers(run.folder, self.prepared)
        self.is_pair = getattr(recipe.texts, "text_pair", None) is not None
        self.store = self.prepared.store(cache or run.folder / CACHE)
        self.pool = self.store.index(list(self.store.shards()))
        self.loaded = None
        if teachers:
            options = self.prepared.sweep_options()
            self.loaded = {info.name: info.load(options) for info in self.prepared.infos}

    @property
    def method(self) -> str:
        """The method's title."""
        return self.prepared.method.title

    def explain(self, text: str, pair: str | None = None) -> Explanation | None:
        """The teachers' answers and the target. None for a text that is not in the pool, if the teachers are not loaded. AlloyError.

        pair: the second text, where the run reads pairs."""
        texts = self._table(text, pair)
        if (self.pool.find(id_blocks(texts.ids())).between(0, len(texts)) >= 0).all():
            try:
                return self._explained("stored", stored(self.prepared, self.store, texts.ids()), texts)
            except AlloyError:  # the store has a row for the text, but not all of its outputs
                if self.loaded is None:
                    raise
        if self.loaded is None:
            return None
        with TemporaryDirectory(prefix="alloykit-") as folder:
            store = Store(folder, salt=salt_of(self.prepared.recipe.texts))
            sweep(self.prepared.infos, texts, store, self.prepared.sweep_options(), loaded=self.loaded)
            return self._explained("computed", stored(self.prepared, store, texts.ids()), texts)

    @cached_property
    def _encoder(self) -> TextEncoder | None:
        """The frozen encoder whose states the method asks for. It is loaded for the first text."""
        reading = self.prepared.encoder_reading
        return None if reading is None else TextEncoder(reading)

    def _table(self, text: str, pair: str | None) -> Texts:
        row = {"text": text} | ({"text_pair": pair or ""} if self.is_pair else {})
        return load_texts(
            [row],
            text_pair="text_pair" if self.is_pair else None,
            salt_env=getattr(self.prepared.recipe.texts, "salt_env", None),
        )

    def _explained(self, origin: Origin, source: Source, texts: Texts) -> Explanation:
        space, method = self.prepared.space, self.prepared.method.as_classifier()
        if self._encoder is not None:
            source = WithTextStates(source, torch.cat(list(self._encoder.states(texts))))
        rows = source.rows([0])
        found = None if method is None else supervised(method, rows, self.context, 1)
        shares = None if found is None or found.teacher_weights is None else found.teacher_weights[0].tolist()
        teachers = []
        for i, (info, mine) in enumerate(zip(self.prepared.infos, rows.teachers, strict=True)):
            names = [space.names[at] for at in space.index(i).tolist()]
            answered = mine.answered is None or bool(mine.answered[0])
            answers = dict(zip(names, mine.probabilities()[0].tolist(), strict=True)) if answered else {}
            teachers.append(TeacherAnswer(info.name, answers, None if shares is None else shares[i]))
        if found is None:
            return Explanation(origin, teachers, None, None)
        target = dict(zip(space.names, found.targets[0].tolist(), strict=True))
        return Explanation(origin, teachers, target, float(found.weights[0]))
