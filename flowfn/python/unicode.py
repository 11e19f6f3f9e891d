"""Which strings are text.

Rule: a lone surrogate, which undecodable bytes become where they are decoded with `surrogateescape`, has no form in
UTF-8, and so in no database. Values may hold it, as their serializer has a form of its own; a name that is kept can't.
"""

from __future__ import annotations

__all__ = ["escaped", "is_unicode"]


def is_unicode(text: str) -> bool:
    """Whether a string is text: no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escaped(text: str) -> str:
    r"""A string as text: a lone surrogate as it is written in Python, such as `\udce9`."""
    return text if is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()
