"""A plain function as a tool: its schema comes from its signature, and its arguments are converted and checked."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ValidationError

from graph_compat.prebuilt import InjectedState, InjectedStore, ToolRuntime
from graph_compat.prebuilt.tool import FunctionTool


class Point(BaseModel):
    x: int


def test_the_schema_is_that_of_a_chat_completion_api() -> None:
    """Name, docstring, parameters and defaults, as an item of `tools`."""

    def find(city: str, days: Annotated[int, "how many"] = 3, unit: Literal["C", "F"] = "C") -> str:
        """Find the weather."""
        return city

    assert FunctionTool(find).json_schema == {
        "type": "function",
        "function": {
            "name": "find",
            "description": "Find the weather.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer", "default": 3, "description": "how many"},
                    "unit": {"type": "string", "default": "C", "enum": ["C", "F"]},
                },
                "required": ["city"],
            },
        },
    }


def test_what_the_graph_fills_is_not_in_the_schema() -> None:
    """State, store and runtime are hidden from the model."""

    def look(
        x: int,
        state: Annotated[dict[str, Any], InjectedState],
        key: Annotated[str, InjectedState("user")],
        store: Annotated[Any, InjectedStore()],
        runtime: ToolRuntime[Any, Any],
        other: ToolRuntime[Any, Any] | None = None,
    ) -> str:
        return ""

    assert list(FunctionTool(look).json_schema["function"]["parameters"]["properties"]) == ["x"]


def test_arguments_become_what_they_are_annotated_with() -> None:
    """A dict becomes the model, a digit string the number; what isn't given is left to the default."""

    def take(point: Point, times: int, rest: str = "rest") -> Any:
        return point, times, rest

    assert FunctionTool(take).invoke({"point": {"x": 1}, "times": "2"}, {}) == (Point(x=1), 2, "rest")


def test_a_property_called_title_stays() -> None:
    """Only the titles that pydantic adds are taken out of the schema."""

    def name(title: str) -> str:
        return title

    parameters = FunctionTool(name).json_schema["function"]["parameters"]
    assert parameters == {
        "type": "object",
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
    }


@pytest.mark.parametrize("name", ["schema", "copy", "_private", "model_config"])
def test_a_parameter_may_have_a_name_that_pydantic_keeps(name: str) -> None:
    """Such names are no reason to rename a function's parameter."""
    function: Any = {}
    exec(f"def tool({name}: int) -> int:\n    return {name}", function)
    assert FunctionTool(function["tool"]).invoke({name: "7"}, {}) == 7


def test_arguments_that_do_not_fit_are_refused() -> None:
    """pydantic's error names the parameter as the function does."""

    def take(count: int) -> int:
        return count

    with pytest.raises(ValidationError) as caught:
        FunctionTool(take).invoke({"count": "many"}, {})
    assert caught.value.errors()[0]["loc"] == ("count",)


def test_a_parameter_without_a_name_is_refused() -> None:
    """A model gives arguments by name."""

    def take(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(TypeError, match=r"take\(\) takes \*numbers: int, which a model can't give"):
        FunctionTool(take)
