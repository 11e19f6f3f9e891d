"""From what a user writes as `index=` to vectors.

Rule: a batch's texts are embedded in one call, each text once, before the backend is touched: embedding may take
seconds, and no lock is held meanwhile.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from flowfn.errors import AsyncInBlockingRun, InvalidInput
from flowfn.stores.items import IndexConfig
from flowfn.stores.paths import WHOLE, texts_of, tokenize_path
from flowfn.stores.ranking import packed

Vectors = list[list[float]]
EmbeddingsFunc = Callable[[Sequence[str]], Vectors]
AEmbeddingsFunc = Callable[[Sequence[str]], Awaitable[Vectors]]

_EXPECTED = "Pass a function from a list of texts to a list of vectors, or an object with embed_documents()."


@runtime_checkable
class Embeddings(Protocol):
    """What turns texts into vectors; langchain's `Embeddings` are such."""

    def embed_documents(self, texts: list[str]) -> Vectors:
        """A vector for each text."""

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text to search for."""

    async def aembed_documents(self, texts: list[str]) -> Vectors:
        """As `embed_documents`, for asyncio."""

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, for asyncio."""


class FunctionEmbeddings:
    """A function as `Embeddings`. An async function serves asyncio callers only."""

    def __init__(self, function: EmbeddingsFunc | AEmbeddingsFunc) -> None:
        self._function: Any = function
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine function
        )

    def embed_documents(self, texts: list[str]) -> Vectors:
        """A vector for each text.

        Raises:
            AsyncInBlockingRun: the function is async.
        """
        if self._is_async:
            raise AsyncInBlockingRun(
                f"embed={self._function!r} is async, and a blocking method was called: await aput() or asearch()"
            )
        found: Vectors = self._function(texts)
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> Vectors:
        """A vector for each text; a blocking function runs in a thread."""
        if not self._is_async:
            return await asyncio.to_thread(self.embed_documents, texts)
        found: Vectors = await self._function(texts)
        return found

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return (await self.aembed_documents([text]))[0]


def ensure_embeddings(embed: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str | None) -> Embeddings:
    """`Embeddings` of an object that has their methods, a function, or `"provider:model"` (by langchain).

    Raises:
        InvalidInput: it is none of these.
    """
    if isinstance(embed, str):
        return _by_langchain(embed)
    if isinstance(embed, Embeddings):
        return embed
    if callable(embed):
        return FunctionEmbeddings(embed)
    raise InvalidInput(f"embed={embed!r} embeds nothing. {_EXPECTED}")


def _by_langchain(name: str) -> Embeddings:
    from importlib import import_module

    try:
        found: Embeddings = import_module("langchain.embeddings").init_embeddings(name)
    except ImportError as error:
        raise InvalidInput(
            f"embed={name!r} names a model of langchain, which isn't installed. Install langchain, or pass a function."
        ) from error
    return found


# -- an index -------------------------------------------------------------------------------------


class Index:
    """The `index=` of a store, read once."""

    def __init__(self, config: IndexConfig) -> None:
        """Raises `InvalidInput` for a config that lacks `dims` or `embed`."""
        dims = config.get("dims")
        if not isinstance(dims, int) or isinstance(dims, bool) or dims < 1:
            raise InvalidInput(f"index has dims={dims!r}. Write how many numbers a vector has: 'dims': 1536.")
        self.dims = dims
        self.embeddings = ensure_embeddings(config.get("embed"))
        self._paths = _tokenized(config.get("fields") or [WHOLE])

    def texts(self, value: Mapping[str, Any] | None, index: Any) -> list[str]:
        """The texts of a value that are compared with queries; `index` as in `PutOp`."""
        if value is None or index is False:
            return []
        return texts_of(value, self._paths if index is None else _tokenized(index))

    def embed(self, texts: Iterable[str], queries: Iterable[str]) -> Embedded:
        """The vectors of texts to keep and of texts to search for."""
        kept, asked = _distinct(texts), _distinct(queries)
        documents = self.embeddings.embed_documents(kept) if kept else []
        return self._embedded(kept, documents, asked, [self.embeddings.embed_query(text) for text in asked])

    async def aembed(self, texts: Iterable[str], queries: Iterable[str]) -> Embedded:
        """As `embed`, for asyncio."""
        kept, asked = _distinct(texts), _distinct(queries)
        documents = await self.embeddings.aembed_documents(kept) if kept else []
        found = await asyncio.gather(*map(self.embeddings.aembed_query, asked))
        return self._embedded(kept, documents, asked, found)

    def _embedded(
        self, texts: Sequence[str], vectors: Sequence[Any], queries: Sequence[str], asked: Sequence[Any]
    ) -> Embedded:
        return Embedded(self._packed(texts, vectors), self._packed(queries, asked))

    def _packed(self, texts: Sequence[str], vectors: Sequence[Any]) -> dict[str, bytes]:
        """Each text's vector.

        Raises:
            InvalidInput: `embed` gave too few vectors or too many, or of another length.
        """
        if len(vectors) != len(texts):
            raise InvalidInput(
                f"embed gave {len(vectors)} vectors for {len(texts)} texts. Return one for each."
            )
        for vector in vectors:
            if len(vector) != self.dims:
                raise InvalidInput(
                    f"embed gave a vector of {len(vector)} numbers, and index has dims={self.dims}. "
                    f"Write 'dims': {len(vector)}, or embed with another model."
                )
        return {text: packed(vector) for text, vector in zip(texts, vectors, strict=True)}


class Embedded:
    """The vectors of a batch: of the texts that it keeps, and of those that it searches for."""

    def __init__(self, texts: dict[str, bytes], queries: dict[str, bytes]) -> None:
        self.texts = texts
        self.queries = queries


def _tokenized(paths: Iterable[str]) -> list[list[str]]:
    if isinstance(paths, str) or not isinstance(paths, Iterable):
        raise InvalidInput(f"index={paths!r} is no list of paths. Write [{paths!r}], False, or nothing.")
    return [tokenize_path(path) for path in paths]


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
