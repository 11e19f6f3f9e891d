"""A chat model that nobody listens to is asked without what callbacks would be told, unless somebody could tell."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("langchain_core")

import langgraph.prebuilt
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.rate_limiters import BaseRateLimiter
from langchain_core.runnables import RunnableLambda
from pydantic import Field

import graph_compat.prebuilt
from graph_compat.warnings import LangGraphDeprecatedSinceV10

from .callers import Caller

pytestmark = pytest.mark.filterwarnings(
    "ignore::graph_compat.warnings.LangGraphDeprecatedSinceV10",
    "ignore::langgraph.warnings.LangGraphDeprecatedSinceV10",
)

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
USED = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


class Fake(BaseChatModel):
    """Answers with what it was given, and what LangChain told it."""

    name: str | None = "fake"
    asked: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def message(self, messages: Any, stop: Any, run_manager: Any, options: Any) -> AIMessage:
        self.asked.append(messages)
        seen = [run_manager.__class__.__name__, messages, stop, options]
        return AIMessage(
            re.sub(r" id='[^']*'", "", repr(seen)), response_metadata={"m": 1}, usage_metadata=USED
        )

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        return ChatResult(
            generations=[ChatGeneration(message=self.message(messages, stop, run_manager, options))]
        )


class Described(Fake):
    """Its answer has metadata at every level."""

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        message = self.message(messages, stop, run_manager, options)
        generation = ChatGeneration(message=message, generation_info={"finish_reason": "stop", "m": 2})
        return ChatResult(generations=[generation], llm_output={"model_name": "fake", "m": 3})


class Several(Fake):
    """It gives two answers, the first with an id."""

    def _generate(self, messages: Any, stop: Any = None, **options: Any) -> ChatResult:
        answers = (AIMessage("first", id="own"), AIMessage("second"))
        return ChatResult(
            generations=[ChatGeneration(message=answer) for answer in answers], llm_output={"m": 3}
        )


class Unmanaged(Fake):
    """It takes no run manager."""

    def _generate(self, messages: Any, stop: Any = None) -> ChatResult:  # type: ignore[override]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(str(stop)))])


class Streaming(Fake):
    """It streams where it is told to."""

    streaming: bool = False

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> Iterator[Any]:
        yield from (ChatGenerationChunk(message=AIMessageChunk(content=part)) for part in "ab")


class Failing(Fake):
    """It fails."""

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        raise KeyError("no answer")


class Placed(Fake):
    """It answers with where LangChain says that it runs, and fails as LangChain's do of what isn't there."""

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        told = run_manager.metadata
        at = [
            told["langgraph_node"],
            told["thread_id"],
            told["own"],
            "own" in run_manager.inheritable_metadata,
        ]
        at += [
            "mine" in run_manager.tags,
            "mine" in run_manager.inheritable_tags,
            run_manager.parent_run_id is None,
        ]
        if len(messages) > 1:
            run_manager.get_child()
        return ChatResult(generations=[ChatGeneration(message=AIMessage(repr(at)))])


class Limit(BaseRateLimiter):
    """Counts."""

    count = 0

    def acquire(self, *, blocking: bool = True) -> bool:
        self.count += 1
        return True

    async def aacquire(self, *, blocking: bool = True) -> bool:
        return self.acquire()


MODELS: dict[str, Callable[[], Any]] = {
    "plain": Fake,
    "bound options": lambda: Fake().bind(stop=["x"], temperature=1),
    "bound format": lambda: Fake().bind(ls_structured_output_format={"kwargs": {}, "schema": {}}, a=1),
    "bound twice": lambda: Fake().bind(a=1).bind(b=2),
    "bound configuration": lambda: Fake().with_config(tags=["t"]),
    "metadata": Described,
    "several answers": Several,
    "no run manager": Unmanaged,
    "streams": lambda: Streaming(streaming=True),
    "may stream": Streaming,
    "streams by option": lambda: Streaming().bind(stream=True),
    "streaming disabled": lambda: Streaming(streaming=True, disable_streaming=True),
    "blocks": lambda: Described(output_version="v1"),
    "fails": Failing,
    "cached": lambda: Described(cache=InMemoryCache()),
    "cached where there is no cache": lambda: Fake(cache=True),
    "place": lambda: Placed(tags=["mine"], metadata={"own": 1}),
    "limited": lambda: Fake(rate_limiter=Limit()),
    "a chain": lambda: RunnableLambda(lambda messages: messages) | Fake(),
}
GIVEN: dict[str, list[Any]] = {
    "text": [("user", "Go.")],
    "messages": [SystemMessage("s"), HumanMessage("Go.", id="1"), AIMessage("a"), HumanMessage("on", id="2")],
    "blocks": [HumanMessage([{"type": "text", "text": "Go."}, {"type": "file", "file": {"file_id": "f"}}])],
    "old blocks": [HumanMessage([{"type": "image", "source_type": "url", "url": "http://x/y.png"}])],
}


def told(library: Any, caller: Caller, model: Any, given: list[Any], **options: Any) -> Any:
    """What an agent answers twice, or fails with: all of the message, with new ids alike."""
    agent = library.create_react_agent(model, [], **options)
    config = {"configurable": {"thread_id": "7"}}
    try:
        both = [caller.invoke(agent, {"messages": given}, config)["messages"][-1] for _ in range(2)]
    except Exception as error:
        return type(error).__name__, str(error)
    return [(type(message), UUID.sub("-", repr(message.model_dump()))) for message in both]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("model", MODELS)
def test_any_model_answers_as_langchain_asks_it(caller: Caller, model: str, given: str) -> None:
    """Its message has the text, the metadata and the kind of id that it has in LangGraph; or it fails alike."""
    theirs, ours = (
        told(library, caller, MODELS[model](), GIVEN[given])
        for library in (langgraph.prebuilt, graph_compat.prebuilt)
    )
    assert ours == theirs


@pytest.mark.parametrize(
    "prompt",
    ["Be brief.", SystemMessage("Be brief."), lambda state: "Just this."],
    ids=["text", "message", "function"],
)
def test_a_prompt_of_any_form_reaches_the_model_alike(caller: Caller, prompt: Any) -> None:
    """What isn't a list of messages is LangChain's to convert."""
    libraries = (langgraph.prebuilt, graph_compat.prebuilt)
    theirs, ours = (told(library, caller, Fake(), GIVEN["text"], prompt=prompt) for library in libraries)
    assert ours == theirs


@pytest.fixture
def by_langchain(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models whose callbacks LangChain has set up."""
    asked: list[str] = []
    theirs = BaseChatModel._get_invocation_params

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(self.name)
        return theirs(self, *args, **kwargs)

    monkeypatch.setattr(BaseChatModel, "_get_invocation_params", counted)
    return asked


def ask(caller: Caller, model: Any, config: Any = None) -> Any:
    """What an agent with this model answers."""
    with pytest.warns(LangGraphDeprecatedSinceV10):
        agent = graph_compat.prebuilt.create_react_agent(model, [])
    return caller.invoke(agent, {"messages": [("user", "Go.")]}, config)["messages"][-1]


@pytest.mark.parametrize("model", [Fake(), Fake().bind(stop=["x"])], ids=["plain", "bound"])
def test_a_model_that_nobody_listens_to_is_asked_directly(
    caller: Caller, model: Any, by_langchain: list[str]
) -> None:
    """What callbacks would be told isn't made."""
    ask(caller, model)
    assert by_langchain == []


class Heard(BaseCallbackHandler):
    """Counts the models that it is told of."""

    def __init__(self) -> None:
        self.models = 0

    def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None:
        self.models += 1


@pytest.mark.parametrize("where", ["the run", "the model", "what binds it"])
def test_callbacks_hear_of_a_model(caller: Caller, where: str, by_langchain: list[str]) -> None:
    """Callbacks hear of a model's call, whoever has set them."""
    heard = Heard()
    model: Any = Fake(callbacks=[heard]) if where == "the model" else Fake()
    model = model.with_config(callbacks=[heard]) if where == "what binds it" else model
    ask(caller, model, {"callbacks": [heard]} if where == "the run" else None)
    assert (heard.models, by_langchain) == (1, ["fake"])


def test_what_a_program_counts_of_its_models_is_whole(caller: Caller) -> None:
    """LangChain's count of tokens listens without a word in any configuration."""
    with get_usage_metadata_callback() as counted:
        ask(caller, Described())
    assert counted.usage_metadata["fake"]["total_tokens"] == 3


def test_a_model_that_is_asked_in_its_own_way_is_asked_so(caller: Caller) -> None:
    """A subclass may do anything before it answers."""

    class Own(Fake):
        def invoke(self, *args: Any, **kwargs: Any) -> Any:
            return AIMessage("own")

        async def ainvoke(self, *args: Any, **kwargs: Any) -> Any:
            return AIMessage("own")

    assert ask(caller, Own()).content == "own"


@pytest.mark.parametrize("name", ["invoke", "generate"])
def test_who_puts_code_around_langchains_models_has_it_run(
    caller: Caller, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tracers do, when a model has been asked before as well."""
    seen = []
    model = Fake()
    ask(caller, model)
    for form in (name, f"a{name}"):
        theirs = getattr(BaseChatModel, form)

        @functools.wraps(theirs)
        def traced(self: Any, *args: Any, theirs: Any = theirs, **kwargs: Any) -> Any:
            seen.append(self.name)
            return theirs(self, *args, **kwargs)

        monkeypatch.setattr(BaseChatModel, form, traced)
    ask(caller, model)
    assert seen == ["fake"]


@pytest.mark.parametrize("kind", [Fake, Described])
def test_a_models_methods_look_as_they_did(caller: Caller, kind: type[Fake]) -> None:
    """What is kept with them for LangChain is what anybody finds who looks at them, also through a wrapper."""
    made = type(kind.__name__, (kind,), {"_generate": kind._generate, "_agenerate": kind._agenerate})
    looked = {name: inspect.signature(getattr(kind, name)) for name in ("_generate", "_agenerate")}
    ask(caller, made())
    for name, before in looked.items():
        after = getattr(made, name)
        assert inspect.signature(after) == before
        assert inspect.signature(functools.wraps(after)(lambda *args: None)) == before
        assert list(inspect.signature(getattr(made(), name)).parameters) == [*before.parameters][1:]


def test_a_rate_limit_counts_each_call_and_a_cache_spares_the_second(caller: Caller) -> None:
    """Both are LangChain's, and are asked by its code."""
    limit = Limit()
    model = Fake(rate_limiter=limit, cache=InMemoryCache())
    assert ask(caller, model).content == ask(caller, model).content
    assert (limit.count, len(model.asked)) == (1, 1)


def test_messages_that_a_model_changes_are_its_own_list(caller: Caller) -> None:
    """What it is given is a copy of the state's list, as LangChain gives it."""

    class Greedy(Fake):
        def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
            messages.clear()
            return ChatResult(generations=[ChatGeneration(message=AIMessage("mine"))])

    with pytest.warns(LangGraphDeprecatedSinceV10):
        agent = graph_compat.prebuilt.create_react_agent(Greedy(), [])
    result = caller.invoke(agent, {"messages": [("user", "Go.")]})
    assert [message.content for message in result["messages"]] == ["Go.", "mine"]
