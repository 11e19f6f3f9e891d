"""Pictures of programs and of runs: a graph as data, and the texts and images made of it.

Rule: a picture is plain data and drawing it is a plain function of it. Nothing here runs anybody's code, and
nothing goes to the network unless it is told to (`draw_method=MermaidDrawMethod.API`).

- What is drawn: `graph`, as data. `sketch` reads one from a program's source, `journey` from a run's records;
  `timeline` is when a run's calls ran, and `waits` what came before what.
- Drawing it: `mermaid`, `dot` and `ascii` as text, `svg` and `png` as images. `layers` says where nodes go.
"""

from flowfn.drawing.graph import Edge, Graph, Node
from flowfn.drawing.mermaid import CurveStyle, MermaidDrawMethod, NodeStyles

__all__ = ["CurveStyle", "Edge", "Graph", "MermaidDrawMethod", "Node", "NodeStyles"]
