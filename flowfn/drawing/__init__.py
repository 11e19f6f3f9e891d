"""Pictures of programs and of runs: a graph as data, and the texts and images made of it.

Rule: a picture is plain data and drawing it is a plain function of it. Nothing here runs anybody's code, and
nothing goes to the network unless it is told to (`draw_method=MermaidDrawMethod.API`).
"""

from flowfn.drawing.graph import Edge, Graph, Node
from flowfn.drawing.mermaid import CurveStyle, MermaidDrawMethod, NodeStyles

__all__ = ["CurveStyle", "Edge", "Graph", "MermaidDrawMethod", "Node", "NodeStyles"]
