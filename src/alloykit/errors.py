"""The exception for problems that the user can fix, and the warning class."""

MAX_PART = 8_000  # characters of each part of a message


def _cut(part: str) -> str:
    return part if len(part) <= MAX_PART else f"{part[:MAX_PART]}…" + ("\n" if part.endswith("\n") else "")


class AlloyError(Exception):
    """A problem that the user can fix: what was expected, what came instead, and what to do about it.

    The command line prints it as one message and exits with code 2. alloykit raises no other exception
    for the user on purpose.
    """

    def __init__(self, *, expected: str, got: str, hint: str = "") -> None:
        # Messages shorten long names and values themselves; this is a last limit.
        expected, got, hint = (_cut(part) for part in (expected, got, hint))
        self.expected = expected
        self.got = got
        self.hint = hint
        end = "" if got.endswith("\n") else ". "  # a list of problems ends its own lines
        super().__init__(f"expected {expected}; got {got}{end}{hint}".strip())

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (type(self), self.expected, self.got, self.hint)


def _made_again(kind: type[AlloyError], expected: str, got: str, hint: str) -> AlloyError:
    """From another process."""
    return kind(expected=expected, got=got, hint=hint)


class AlloyWarning(UserWarning):
    """A problem that the user should look at, but that does not stop the run."""
