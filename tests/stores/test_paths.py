"""What a path names."""

from __future__ import annotations

import pytest

from flowfn.stores.paths import get_text_at_path, tokenize_path

VALUE = {
    "title": "T",
    "n": 5,
    "yes": True,
    "null": None,
    "deep": {"a": "A", "b": {"c": "C"}, "$": "dollar"},
    "parts": [{"text": "one", "n": 1}, {"text": "two"}, "three", 4, None],
    "ü": {"é": "accents"},
}


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("", []),
        ("$", ["$"]),
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        ("a[0].b", ["a", "[0]", "b"]),
        ("[-1]", ["[-1]"]),
        ("a[*].{b,c.d}", ["a", "[*]", "{b,c.d}"]),
        ("a.*.c", ["a", "*", "c"]),
        ("a..b", ["a", "b"]),
    ],
)
def test_a_path_has_steps(path: str, steps: list[str]) -> None:
    """Keys, indexes, wildcards and choices."""
    assert tokenize_path(path) == steps


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("title", ["T"]),
        ("n", ["5"]),
        ("yes", ["True"]),
        ("null", []),
        ("missing", []),
        ("title.x", []),
        ("deep.a", ["A"]),
        ("deep.b", ['{"c": "C"}']),
        ("deep.$", ["dollar"]),
        ("deep.*", ["A", '{"c": "C"}', "dollar"]),
        ("deep.*.c", ["C"]),
        ("parts[0].text", ["one"]),
        ("parts[-3]", ["three"]),
        ("parts[9]", []),
        ("parts[x]", []),
        ("parts[*].text", ["one", "two"]),
        ("parts[*]", ['{"n": 1, "text": "one"}', '{"text": "two"}', "three", "4"]),
        ("parts.*.text", ["one", "two"]),
        ("parts[*].{text,n}", ["one", "1", "two"]),
        ("deep.{a,b.c, $}", ["A", "C", "dollar"]),
        ("{title,n}", ["T", "5"]),
        ("ü.é", ["accents"]),
        ("[0]", []),
    ],
)
def test_a_path_gives_texts(path: str, texts: list[str]) -> None:
    """Strings as they are, all else as JSON with sorted keys; what isn't there gives none."""
    assert get_text_at_path(VALUE, path) == texts
    assert get_text_at_path(VALUE, tokenize_path(path)) == texts


@pytest.mark.parametrize("path", ["", "$"])
def test_the_whole_value_is_json(path: str) -> None:
    """Sorted, and with letters rather than escapes."""
    assert get_text_at_path({"ü": [1], "a": None}, path) == ['{"a": null, "ü": [1]}']


def test_what_json_cannot_say_has_a_text() -> None:
    """Keys that can't be sorted are texts, and numbers beyond Python's decimal ones are hexadecimal."""
    value = {"b": {1: "one", "a": [2]}, (1, 2): 10**5000}
    (text,) = get_text_at_path(value, "$")
    assert text == f'{{"[1, 2]": "{hex(10**5000)}", "b": {{"1": "one", "a": [2]}}}}'
    assert get_text_at_path({"n": 10**5000}, "n") == [f'"{hex(10**5000)}"']
