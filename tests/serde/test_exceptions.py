"""Exceptions: a failure can always be recorded, and comes back as the exception that it was."""

import re
import threading
from typing import Annotated, Any, Literal
from urllib.error import URLError

import pytest
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import PydanticCustomError

from flowfn.errors import RecordedError
from flowfn.identity.digest import exact
from flowfn.serde import DEFAULT, Serde
from flowfn.serde.invalid import arguments, build

CALLS: list[str] = []


class Custom(Exception):
    def __init__(self, code: int, *, hint: str) -> None:
        CALLS.append("init")
        super().__init__(f"code {code}")
        self.code = code
        self.hint = hint


class Wrapped(Exception):
    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.inner = inner


class Strange(OSError):
    def __new__(cls, *args: Any) -> "Strange":
        CALLS.append("new")
        return super().__new__(cls, *args)


def _again(error: BaseException) -> Any:
    data = DEFAULT.dumps(error)
    actual = DEFAULT.loads(data)
    assert DEFAULT.dumps(actual) == data
    return actual


def _raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


@pytest.mark.parametrize(
    "error",
    [
        ValueError("a", 1, (2, [3])),
        KeyError("k"),
        FileNotFoundError(2, "No such file", "name.txt"),
        OSError("only text"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"),
        ImportError("gone", name="m", path="p"),
        SystemExit(3),
        ExceptionGroup("several", [ValueError(1), ExceptionGroup("inner", [KeyError(2)])]),
        Exception(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_type_arguments_and_text_come_back(error: BaseException) -> None:
    """A builtin exception has its type, its arguments and its text."""
    actual = _again(error)
    assert (type(actual), repr(actual.args), str(actual)) == (type(error), repr(error.args), str(error))


def test_state_of_builtin_exceptions_comes_back() -> None:
    """`errno`, `filename`, `value` and `name` are not in `args`."""
    assert _again(OSError(2, "m", "f")).filename == "f"
    assert _again(StopIteration(7)).value == 7
    assert _again(ImportError("m", name="n")).name == "n"


def test_no_constructor_of_the_exception_runs() -> None:
    """G5: neither `__init__` nor `__new__` is called, and its attributes come back."""
    data = DEFAULT.dumps([Custom(5, hint="h"), Strange(2, "m")])
    CALLS.clear()
    custom, strange = DEFAULT.loads(data)
    assert (custom.args, custom.code, custom.hint) == (("code 5",), 5, "h")
    assert (type(strange), strange.errno, CALLS) == (Strange, 2, [])


def test_notes_causes_and_the_traceback_text_come_back() -> None:
    """What a reader of the failure needs, after the process is gone."""
    error = _raised(ValueError("outer"), _raised(KeyError("inner")))
    error.add_note("while testing")
    actual = _again(error)
    assert actual.__notes__ == ["while testing"]
    assert repr(actual.__cause__) == repr(error.__cause__)
    assert "in _raised" in actual.recorded_traceback


def test_a_context_comes_back_unless_it_was_suppressed() -> None:
    """`raise ... from None` hides what came before, there and here."""
    error = ValueError("outer")
    error.__context__ = KeyError("inner")
    assert isinstance(_again(error).__context__, KeyError)
    error.__suppress_context__ = True
    assert _again(error).__context__ is None


def test_what_cannot_be_stored_in_an_exception_is_stored_as_its_repr() -> None:
    """Recording a failure must not fail."""
    lock = threading.Lock()
    error = ValueError("held", lock)
    error.lock = [lock]  # type: ignore[attr-defined]
    actual = _again(error)
    assert (actual.args, actual.lock) == (("held", repr(lock)), repr([lock]))


def test_what_an_exception_says_is_bounded() -> None:
    """Recording a failure must not fail: as a text, bytes are four times as large, and no database keeps them."""
    error = ValueError(b"\xff" * 1_000_000)
    assert len(DEFAULT.dumps(error)) < 1_500_000
    assert _again(error).args == error.args


class Refused(Exception):
    """Says what it holds, which can't be stored, and counts those who extend it."""

    def __init_subclass__(cls, **_: Any) -> None:
        CALLS.append("extended")

    def __init__(self, response: Any) -> None:
        super().__init__("refused", response)
        self.response = response

    def __str__(self) -> str:
        return f"status {self.response.status}"

    def __repr__(self) -> str:
        return f"<refused {self.response.status}>"


class Placed(Exception):
    """Says where it was raised."""

    def __str__(self) -> str:
        assert self.__traceback__ is not None
        return f"at line {self.__traceback__.tb_lineno}"


class Response:
    status = 418


def test_showing_a_restored_exception_never_fails() -> None:
    """One that looks at what couldn't be stored says what it said, is caught by its class, and runs no code of that."""
    CALLS.clear()
    error = _again(Refused(Response()))
    assert isinstance(error, Refused)
    assert (str(error), repr(error), type(error).__name__) == (
        "status 418",
        "Refused('status 418')",
        "Refused",
    )
    assert CALLS == []
    raised = _raised(Placed())
    assert str(_again(raised)) == str(raised)


def _to_and_fro(left: int) -> None:
    if left == 0:
        raise ValueError("at the bottom")
    _fro_and_to(left - 1)


def _fro_and_to(left: int) -> None:
    _to_and_fro(left)


def test_of_a_long_traceback_both_ends_are_kept() -> None:
    """What a recursion that ran away records is bounded: where it came in, and where it ended."""
    with pytest.raises(ValueError, match="at the bottom") as short:
        _to_and_fro(20)
    with pytest.raises(ValueError, match="at the bottom") as long:
        _to_and_fro(400)
    whole, ends = (_again(found.value).recorded_traceback for found in (short, long))
    assert (whole.count("File "), ends.count("File ")) == (42, 64)
    assert ends.splitlines()[1].strip() == "_to_and_fro(400)"
    assert "  [738 frames are left out]" in ends.splitlines()
    assert ends.splitlines()[-1].strip() == 'raise ValueError("at the bottom")'


def test_an_exception_that_could_never_be_shown_comes_back_too() -> None:
    """A class whose `__str__` fails in any case is no reason not to record a failure."""
    broken = type("Broken", (Exception,), {"__module__": "elsewhere", "__str__": lambda self: 1 / 0})
    serde = Serde().allow(broken)
    error = serde.loads(serde.dumps(broken(7)))
    assert (isinstance(error, broken), error.args) == (True, (7,))
    assert "Broken" in str(error)


def test_an_exception_inside_another_is_an_exception_again() -> None:
    """`error.reason`, and each of several failures, is told by its type; it is stored without its traceback."""
    inner = _raised(ConnectionRefusedError(111, "refused"), _raised(KeyError("why")))
    error = _again(URLError(inner))  # type: ignore[arg-type]  # what urllib itself passes
    assert (type(error.reason), error.reason.errno) == (ConnectionRefusedError, 111)
    assert (error.reason.__cause__, hasattr(error.reason, "recorded_traceback")) == (None, False)
    failures = _again(Wrapped([ValueError(1), {"b": KeyError(2)}])).inner
    assert repr(failures) == "[ValueError(1), {'b': KeyError(2)}]"


def test_exceptions_deep_inside_each_other_are_recorded_in_little() -> None:
    """One that holds another both ways, as argument and attribute, isn't stored twice as large per level."""
    error: BaseException = ValueError("innermost")
    for _ in range(20):
        error = Wrapped(error)
    stored = DEFAULT.dumps(error)
    assert type(DEFAULT.loads(stored).inner.inner) is Wrapped
    assert len(stored) < 40_000


def test_exceptions_in_each_others_attributes_are_recorded() -> None:
    """A way from one to itself through lists and attributes ends in a repr."""
    first, second = Wrapped(None), Wrapped(None)
    first.inner, second.inner = [second], {"first": first}
    actual = _again(first)
    assert actual.inner[0].inner == repr({"first": first})


def test_an_exception_that_holds_itself_does_so_again() -> None:
    """Django's `ValidationError` says what it has to by a list of errors, of which it is one, as are those in it."""
    error, inner = Wrapped(None), Wrapped(None)
    inner.inner = [inner]
    error.inner = {"all": [error, inner, "more"]}
    error.me = error  # type: ignore[attr-defined]
    actual = _again(error)
    itself, other, more = actual.inner["all"]
    assert itself is actual is actual.me
    assert (other.inner[0] is other, more) == (True, "more")
    assert exact({"error": actual}).exact == exact({"error": error}).exact


def test_an_exception_that_holds_itself_beside_what_cannot_be_stored_is_recorded() -> None:
    """Recording a failure must not fail: the attribute is its repr, as of others."""
    error = Wrapped(None)
    error.inner = [error, threading.Lock()]
    expected = repr(error.inner)
    assert _again(error).inner == expected


def test_an_exception_in_lists_that_are_in_lists_many_times_is_recorded() -> None:
    """Recording a failure must not fail, nor take for ever: an attribute with ways beyond number is its repr."""
    error = Wrapped(None)
    within: list[Any] = [error]
    for _ in range(5):
        within = [within] * 10
    error.inner = within
    expected = repr(within)
    assert _again(error).inner == expected


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("odd: {value}")
    return value


def _known(value: str) -> str:
    raise PydanticCustomError("unknown_name", "no {name} here {x}", {"name": value})


class Form(BaseModel):
    count: Annotated[int, AfterValidator(_even)] = 0
    kind: Literal["a", "b"] = "a"
    name: Annotated[str, AfterValidator(_known)] = ""
    rows: list[int] = Field([], max_length=1)


@pytest.mark.parametrize(
    "given",
    [
        '{"count": "x", "kind": "q"}',
        '{"count": 3}',
        '{"name": "ann", "rows": [1, "y"]}',
        '{"rows": [1, 2]}',
        "[]",
        "{",
    ],
)
def test_a_validation_error_comes_back(given: str) -> None:
    """Whoever caught pydantic's `ValidationError` catches it again: with its text, its errors and what caused them."""
    with pytest.raises(ValidationError) as caught:
        Form.model_validate_json(given)
    actual = _again(caught.value)
    assert type(actual) is ValidationError
    assert (str(actual), actual.json(), actual.args) == (str(caught.value), caught.value.json(), ())
    assert repr(actual.errors()) == repr(caught.value.errors())


def test_a_validation_error_of_what_cannot_be_stored_comes_back() -> None:
    """The input is stored as its repr, and the error is still one of validation."""
    lock = threading.Lock()
    with pytest.raises(ValidationError) as caught:
        Form(count=lock)  # type: ignore[arg-type]
    actual = _again(caught.value)
    assert [(row["type"], row["loc"], row["input"]) for row in actual.errors()] == [
        ("int_type", ("count",), repr(lock))
    ]


def test_a_validation_error_that_this_pydantic_words_otherwise_keeps_its_words() -> None:
    """The rules and texts of pydantic change from version to version; what was said does not."""
    error = ValidationError.from_exception_data("Form", [{"type": "missing", "loc": ("a",), "input": {}}])
    title, came, hidden, kind, loc, _, given, ctx = arguments(error)
    for row in ((kind, loc, "Field needed", given, ctx), ("gone_since", loc, "Field needed", given, ctx)):
        actual = build(ValidationError, [title, came, hidden, *row])
        assert [(each["type"], each["msg"]) for each in actual.errors()] == [(row[0], "Field needed")]


@pytest.mark.parametrize("title", [3, None, "\ud800"], ids=repr)
def test_what_no_validation_error_has_makes_none(title: Any) -> None:
    """G5: hostile bytes end in an error that can be shown, and never in a panic of pydantic's."""
    with pytest.raises((TypeError, ValueError)):
        build(ValidationError, [title, "python", False])


def test_exceptions_in_a_circle_are_recorded() -> None:
    """Causes and attributes that lead back end where they would repeat."""
    error = ValueError("a")
    error.itself = {error: [error]}  # type: ignore[attr-defined]
    error.__cause__ = KeyError("b")
    error.__cause__.__cause__ = error
    actual = _again(error)
    assert actual.itself == repr({error: [error]})
    assert repr(actual.__cause__.__cause__) == "None"


def test_an_exception_whose_type_is_gone_comes_back_as_a_recorded_error() -> None:
    """G5: it names the type, and nothing is imported for it."""
    gone = type("Gone", (Exception,), {"__module__": "not_there", "__qualname__": "Gone"})
    actual = DEFAULT.loads(DEFAULT.dumps(gone("why")))
    assert (type(actual), str(actual), actual.type_name) == (RecordedError, "Gone: why", "not_there:Gone")


@pytest.mark.parametrize("name", ["re:error", "re:PatternError"])
def test_an_error_that_python_has_renamed_is_caught_by_the_same_except(name: str) -> None:
    """G9: a run that 3.12 began goes on under 3.13, and the other way round."""
    written = type(
        "Written", (Exception,), dict(zip(("__module__", "__qualname__"), name.split(":"), strict=True))
    )
    actual = DEFAULT.loads(DEFAULT.dumps(written("bad pattern")))
    assert (type(actual), str(actual)) == (re.error, "bad pattern")


def test_an_exception_class_may_be_registered() -> None:
    """A class made in a function is known to who registered it."""

    class Local(Exception):
        pass

    assert type(Serde().allow(Local).loads(DEFAULT.dumps(Local("x")))) is Local
    assert type(DEFAULT.loads(DEFAULT.dumps(Local("x")))) is RecordedError
