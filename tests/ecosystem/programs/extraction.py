"""`trustcall`: forms that a model fills, with answers that are repaired by patches, and forms that are updated."""

import asyncio

from acting import Actor, calls, show
from pydantic import BaseModel, field_validator
from trustcall import create_extractor


class Person(BaseModel):
    """A person."""

    name: str
    age: int
    likes: list[str] = []

    @field_validator("age")
    @classmethod
    def is_plausible(cls, age: int) -> int:
        if age > 150:
            raise ValueError("nobody is that old")
        return age


def note(text: str, importance: int) -> str:
    """Note something."""
    return text


def once(*lines):
    """A model that says a line per call, and fills patches with the id of the call to mend."""
    left = list(lines)
    return Actor(answer=lambda messages, tools: left.pop(0))


def mended(messages, tools):
    """Answers badly at first; then patches what it is told was wrong."""
    if "PatchFunctionErrors" not in tools:
        return calls(("Person", {"name": "Ada", "age": 999}), ("Person", {"name": "Eve", "age": 36}))
    patch = {"op": "replace", "path": "/age", "value": 36}
    return calls(
        (
            "PatchFunctionErrors",
            {"json_doc_id": "call-1", "planned_edits": "mend the age", "patches": [patch]},
        ),
        first=3,
    )


def updated(messages, tools):
    """Adds what somebody likes to the person that there is, and a new one."""
    patch = {"op": "add", "path": "/likes/-", "value": "tides"}
    return calls(
        ("PatchDoc", {"json_doc_id": "ada", "planned_edits": "add", "patches": [patch]}),
        ("Person", {"name": "Eve", "age": 3}),
    )


def results(extracted):
    show(extracted["responses"], "responses")
    show(extracted["messages"], "messages")
    show(extracted["response_metadata"], "metadata")


ada = calls(("Person", {"name": "Ada", "age": 36}))
results(create_extractor(once(ada), tools=[Person], tool_choice="Person").invoke("Ada is 36."))
results(create_extractor(Actor(answer=mended), tools=[Person]).invoke("Ada and Eve are 36."))
noted = calls(("note", {"text": "tides", "importance": 3}))
results(create_extractor(once(noted), tools=[note]).invoke({"messages": "Note the tides."}))
existing = {
    "messages": "Ada likes tides; Eve is 3.",
    "existing": [("ada", "Person", {"name": "Ada", "age": 36, "likes": []})],
}
updating = create_extractor(Actor(answer=updated), tools=[Person], enable_inserts=True)
results(updating.invoke(existing))
results(asyncio.run(updating.ainvoke(existing)))
extractor = create_extractor(Actor(answer=mended), tools=[Person])
results(asyncio.run(extractor.ainvoke("Ada and Eve are 36.")))
