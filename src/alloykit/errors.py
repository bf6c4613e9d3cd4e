"""The one exception for problems that the user can fix."""


class AlloyError(Exception):
    """Says what was expected, what came instead, and what to do about it.

    The command line prints it as one message and exits with code 2. Nothing else that alloykit
    raises on purpose reaches a user.
    """

    def __init__(self, *, expected: str, got: str, hint: str = "") -> None:
        self.expected = expected
        self.got = got
        self.hint = hint
        end = "" if got.endswith("\n") else ". "  # a list of problems ends its own lines
        super().__init__(f"expected {expected}; got {got}{end}{hint}".strip())


class AlloyWarning(UserWarning):
    """Something that a user should look at, but that does not stop the run."""
