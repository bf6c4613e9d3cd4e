"""The queue between the requests and the student: it computes in batches, counts, and refuses what cannot be answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from alloykit.errors import AlloyError
from alloykit.serving.batcher import Batcher, Closed, QueueFull
from alloykit.serving.classifier import Classifier
from alloykit.serving.classify import Answer, Asked, TooLong, classify
from alloykit.web.refused import Refused
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_metrics import ServerMetrics


class AnswerQueue:
    """The student's answers to the texts of all requests. One thread computes them, in batches. begin: called first in that thread."""

    def __init__(
        self,
        classifier: Classifier,
        options: ServeOptions,
        metrics: ServerMetrics,
        begin: Callable[[], None],
    ) -> None:
        self._metrics = metrics
        self._batcher: Batcher[Asked, Answer] = Batcher(
            lambda asked: classify(classifier, asked),
            max_batch=options.batch,
            max_wait=options.wait_ms / 1000,
            max_queue=options.queue,
            observe=metrics.batch,
            begin=begin,
        )
        metrics.watch_queue(lambda: self._batcher.waiting)

    @property
    def alive(self) -> bool:
        """Whether the queue accepts requests."""
        return self._batcher.alive

    async def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        """An answer for each text. Refused if one text has none."""
        try:
            found = await self._batcher.submit(asked)
        except QueueFull:
            raise Refused("Model is overloaded", "Overloaded") from None
        except Closed:
            raise Refused("the server is stopping", "Unhealthy") from None
        for result in found:
            if isinstance(result, Exception):
                raise _no_answer(result)
        good = [result for result in found if isinstance(result, Answer)]
        self._metrics.texts.inc(len(good))
        self._metrics.truncated.inc(sum(answer.truncated for answer in good))
        return good

    def close(self) -> None:
        """Accept nothing more, and compute everything that was accepted."""
        self._batcher.close()


def _no_answer(error: Exception) -> Refused:
    if isinstance(error, TooLong):
        return Refused(str(error), "Validation")
    if isinstance(error, AlloyError):
        return Refused(str(error), "Backend")
    return Refused(f"the student failed: {type(error).__name__}", "Backend")
