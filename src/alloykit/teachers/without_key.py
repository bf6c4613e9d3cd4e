"""Messages without the key of a service."""

from __future__ import annotations

PART = 8  # characters: a message may be cut within the key, and has a part of it then


def without_key(text: str, key: str) -> str:
    """The text with "…" in place of the key, and of each part of it that has at least `PART` characters."""
    size = min(len(key), PART)
    parts = {key[i : i + size] for i in range(len(key) - size + 1)} - {""}
    found, at = list[str](), 0
    while at < len(text):
        end = at
        while text[end : end + size] in parts:
            end += 1
        if end > at:
            found.append("…")
            at = end + size - 1
        else:
            found.append(text[at])
            at += 1
    return "".join(found)
