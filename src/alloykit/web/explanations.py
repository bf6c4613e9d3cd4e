"""The teachers' answers to texts, for the page: one text at a time, in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from alloykit.errors import AlloyError
from alloykit.finished_runs.explain_text import Explanation, TextExplainer

WAITING = 16  # texts, at most
NOT_IN_POOL = (
    "The run did not learn from this text, so it has no stored answers of the teachers. "
    "Start the server with `--teachers` to see their answers to any text."
)


class Explanations:
    """Asks the explainer. A slow teacher does not delay the student, which another thread uses. begin: called first in this thread."""

    def __init__(self, explainer: TextExplainer, begin: Callable[[], None]) -> None:
        self.method, self.is_pair = explainer.method, explainer.is_pair
        self._explainer = explainer
        self._thread = ThreadPoolExecutor(1, "alloykit explanations", initializer=begin)
        self._waiting = 0

    async def of(self, text: str, pair: str | None) -> tuple[Explanation | None, str]:
        """The teachers' answers to a text, or None and the reason."""
        if self._waiting == WAITING:
            return None, "The server is busy. Try again."
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._thread, self._explainer.explain, text, pair)
        except AlloyError as error:
            return None, str(error)
        finally:
            self._waiting -= 1
        return found, "" if found else NOT_IN_POOL

    def close(self) -> None:
        """Wait for the text that is being explained, and explain no others."""
        self._thread.shutdown(cancel_futures=True)
