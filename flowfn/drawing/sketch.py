"""What a workflow may do, read from its source before it runs.

Rule: the code is read, never run. A call of a task, of another workflow or of `interrupt` is a node; what may be
skipped, or done again, is reached by a conditional edge. The project's own plain functions are read through: what
they call stands where they are called. A name that is only known at run time isn't drawn.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from flowfn.drawing.graph import Edge, Graph, Node
from flowfn.functional.recorded import interrupt
from flowfn.identity.code.fingerprint import fingerprint, is_project_code, resolver
from flowfn.identity.code.unwrapping import unwrapped

__all__ = ["sketch"]

START = "__start__"
END = "__end__"

Resolve = Callable[[tuple[str, ...]], Any]


def sketch(workflow: Any, name: str, function: Callable[..., Any], xray: int | bool = False) -> Graph:
    """The picture of a workflow. Where its source calls nothing that it knows, or can't be found, it is one node.

    Args:
        workflow: what the picture's node stands for where there is only one.
        function: the plain function.
        xray: draw the calls inside tasks and child workflows too: all, or so many levels of them.
    """
    return _sketch(workflow, name, function, xray, ())


def _sketch(workflow: Any, name: str, function: Any, xray: int | bool, outer: tuple[Any, ...]) -> Graph:
    flow = _Flow(outer=(*outer, unwrapped(function)))
    flow.finish(flow.through(function, [_Way(START)]))
    graph = flow.graph
    if len(graph.nodes) == 2:
        return Graph(
            {name: Node(name, name, workflow, None), **graph.nodes}, [Edge(START, name), Edge(name, END)]
        )
    if xray:
        left = xray if isinstance(xray, bool) else xray - 1
        for key, node in list(graph.nodes.items()):
            inner = getattr(node.data, "func", None)
            if inner is not None and unwrapped(inner) not in flow.outer:
                within = _sketch(node.data, node.name, inner, left, flow.outer)
                if within.nodes.keys() - {START, END} != {node.name}:
                    graph.expand(key, within)
    return graph


class _Way(NamedTuple):
    """Where the code may come from; `maybe`: it may also go elsewhere."""

    source: str
    maybe: bool = False


_Ways = list[_Way]


class _Loop(NamedTuple):
    breaks: _Ways
    continues: _Ways


class _Flow:
    """A walk through the code in the order in which it runs, noting each call and where it is come to from."""

    def __init__(self, outer: tuple[Any, ...]) -> None:
        self.outer = outer
        self.graph = Graph({START: Node(START, START, None, None)})
        self._edges: dict[tuple[str, str], bool] = {}
        self._counts: dict[str, int] = {}
        self._returns: list[_Ways] = []
        self._loops: list[_Loop] = []
        self._inside: list[Any] = []
        self._resolve: Resolve = lambda chain: None

    def finish(self, ways: _Ways) -> None:
        """Lead to the end, and make the edges."""
        self.graph.nodes[END] = Node(END, END, None, None)
        self._lead(ways, END)
        self.graph.edges = [Edge(*pair, None, maybe) for pair, maybe in self._edges.items()]

    def through(self, function: Callable[..., Any], ways: _Ways) -> _Ways:
        """Walk a function; the ways out of it."""
        source, root = fingerprint(function).source, unwrapped(function)
        if source is None or root in self._inside or not isinstance(root, FunctionType):
            return ways
        body = ast.parse(source).body[0]
        before, self._resolve = self._resolve, resolver(root)
        loops, self._loops = self._loops, []
        self._inside.append(root)
        self._returns.append([])
        if isinstance(body, ast.FunctionDef | ast.AsyncFunctionDef):
            ways = self._statements(body.body, ways)
        else:
            ways = self._expression(body, ways)
        self._inside.pop()
        self._resolve, self._loops = before, loops
        return _merged(ways, self._returns.pop())

    # -- statements -----------------------------------------------------------------------------

    def _statements(self, body: Iterable[ast.stmt], ways: _Ways) -> _Ways:
        for statement in body:
            ways = self._statement(statement, ways)
        return ways

    def _statement(self, node: ast.stmt, ways: _Ways) -> _Ways:
        match node:
            case ast.If():
                ways = self._expression(node.test, ways)
                return _merged(
                    self._statements(node.body, _maybe(ways)), self._statements(node.orelse, _maybe(ways))
                )
            case ast.For() | ast.AsyncFor():
                ways = self._expression(node.iter, ways)
                return self._loop(lambda ways: self._statements(node.body, ways), ways, node.orelse)
            case ast.While():
                test = node.test
                endless = isinstance(test, ast.Constant) and bool(test.value)
                body = node.body
                return self._loop(
                    lambda ways: self._statements(body, self._expression(test, ways)),
                    ways,
                    node.orelse,
                    endless,
                )
            case ast.Try() | ast.TryStar():
                return self._try(node, ways)
            case ast.Match():
                return self._match(node, self._expression(node.subject, ways))
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    ways = self._expression(item.context_expr, ways)
                return self._statements(node.body, ways)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return ways
            case ast.Break() | ast.Continue() if self._loops:
                loop = self._loops[-1]
                (loop.breaks if isinstance(node, ast.Break) else loop.continues).extend(ways)
                return []
        ways = self._expression(node, ways)
        if isinstance(node, ast.Return):
            self._returns[-1].extend(ways)
            return []
        return [] if isinstance(node, ast.Raise) else ways

    def _loop(
        self, body: Callable[[_Ways], _Ways], ways: _Ways, orelse: Iterable[ast.stmt], endless: bool = False
    ) -> _Ways:
        """A loop's body may be skipped, and leads back to its first calls."""
        known = set(self._edges)
        self._loops.append(_Loop([], []))
        ends = body(ways if endless else _maybe(ways))
        loop = self._loops.pop()
        ends = _merged(ends, loop.continues)
        entries = {way.source for way in ways}
        firsts = [
            target for source, target in self._edges if (source, target) not in known and source in entries
        ]
        for first in dict.fromkeys(firsts):
            self._lead(_maybe(ends), first)
        ways = [] if endless else _merged(_maybe(ways), _maybe(ends))
        return _merged(self._statements(orelse, ways), loop.breaks)

    def _match(self, node: ast.Match, ways: _Ways) -> _Ways:
        """A guard is asked where its pattern fits, and the next case tried where it says no."""
        ends: list[_Ways] = []
        for case in node.cases:
            inside = _maybe(ways)
            if case.guard is not None:
                inside = _maybe(self._expression(case.guard, inside))
                ways = _merged(ways, inside)
            ends.append(self._statements(case.body, inside))
        return _merged(_maybe(ways), *ends)

    def _try(self, node: ast.Try | ast.TryStar, ways: _Ways) -> _Ways:
        before = set(self.graph.nodes)
        ends = self._statements(node.body, ways)
        called = [_Way(key, True) for key in self.graph.nodes if key not in before]
        ends = self._statements(node.orelse, ends)
        handled = [self._statements(each.body, _merged(_maybe(ways), called)) for each in node.handlers]
        return self._statements(node.finalbody, _merged(ends, *handled))

    # -- expressions ----------------------------------------------------------------------------

    def _expression(self, node: ast.AST, ways: _Ways) -> _Ways:
        """Walk an expression, arguments before the call that they are for."""
        match node:
            case ast.IfExp():
                ways = self._expression(node.test, ways)
                return _merged(
                    self._expression(node.body, _maybe(ways)), self._expression(node.orelse, _maybe(ways))
                )
            case ast.BoolOp():
                ways = self._expression(node.values[0], ways)
                for value in node.values[1:]:
                    ways = _merged(ways, self._expression(value, _maybe(ways)))
                return ways
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node, ways)
            case ast.Lambda():
                return self._loop(lambda ways: self._expression(node.body, ways), ways, ())
            case ast.Call():
                for argument in (*node.args, *(each.value for each in node.keywords)):
                    ways = self._expression(argument, ways)
                return self._called(node.func, ways)
            case ast.Name() | ast.Attribute():
                return self._named(node, ways)
        for child in ast.iter_child_nodes(node):
            ways = self._expression(child, ways)
        return ways

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, ways: _Ways
    ) -> _Ways:
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        first, *others = node.generators
        ways = self._expression(first.iter, ways)

        def body(ways: _Ways) -> _Ways:
            for each in (*first.ifs, *(part for other in others for part in (other.iter, *other.ifs)), *made):
                ways = self._expression(each, ways)
            return ways

        return self._loop(body, ways, ())

    def _called(self, target: ast.expr, ways: _Ways) -> _Ways:
        chain = _chain(target)
        if chain is None:  # a method of what a call gives: `fetch(url).result()`
            return self._expression(target, ways)
        helper = None if self._known(chain) is not None else self._resolve(chain)
        if helper is not None and is_project_code(helper):
            return self.through(helper, ways)
        return self._named(target, ways, many=chain[-1] == "map")

    def _named(self, node: ast.expr, ways: _Ways, many: bool = True) -> _Ways:
        """A task that is named and not called is handed to somebody who calls it, perhaps often."""
        chain = _chain(node)
        if chain is None:
            return self._expression(node.value, ways) if isinstance(node, ast.Attribute) else ways
        known = self._known(chain)
        if known is None:
            return ways
        if many:
            return self._loop(lambda ways: self._call(*known, ways), ways, ())
        return self._call(*known, ways)

    def _known(self, chain: tuple[str, ...]) -> tuple[str, Any] | None:
        """The name of the task, workflow or question that a dotted name stands for, or is a method of."""
        for length in range(len(chain), 0, -1):
            value = self._resolve(chain[:length])
            if getattr(type(value), "__flowfn__", None) in ("task", "workflow"):
                return value._self_definition.name, value
            if value is interrupt or (isinstance(value, ModuleType) and _asks(value, chain[length:])):
                return "interrupt", None
        return None

    def _call(self, name: str, value: Any, ways: _Ways) -> _Ways:
        count = self._counts[name] = self._counts.get(name, 0) + 1
        key = name if count == 1 else f"{name}_{count}"
        self.graph.nodes[key] = Node(key, name, value, None)
        self._lead(ways, key)
        return [_Way(key)]

    def _lead(self, ways: _Ways, target: str) -> None:
        for source, maybe in ways:
            self._edges[source, target] = self._edges.get((source, target), True) and maybe


def _asks(module: ModuleType, rest: tuple[str, ...]) -> bool:
    return len(rest) == 1 and vars(module).get(rest[0]) is interrupt


def _chain(node: ast.expr) -> tuple[str, ...] | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        root = _chain(node.value)
        return None if root is None else (*root, node.attr)
    return None


def _maybe(ways: _Ways) -> _Ways:
    return [_Way(source, True) for source, _ in ways]


def _merged(*many: _Ways) -> _Ways:
    """All ways; one that is certain from one side isn't from both."""
    found: dict[str, bool] = {}
    for ways in many:
        for source, maybe in ways:
            found[source] = found.get(source, maybe) or maybe
    return [_Way(*each) for each in found.items()]
