"""The channels of rows that are no writes of a program's: what is kept of calls, and of a run itself.

Rule: a name given out here never changes its meaning, as rows that were written stay. LangGraph has names for some of
this, and those are taken, so that its tools find questions and errors in our rows.
"""

from __future__ import annotations

CALL = "__call__"
"""What a call is."""
RETURN = "__return__"
ERROR = "__error__"
QUESTION = "__interrupt__"
ANSWER = "__resume__"
ANSWERED_BY = "__answered_by__"
FAILED = "__failed__"
REPORT = "__report__"
SUSPENDED = "__suspended__"
STARTED = "__started__"
DECISION = "__decision__"
TIMED = "__timed__"
CODE = "__code__"
TOLD = "__told__"

RUN_TASK = "0" * 32
"""The task under which a root checkpoint keeps what belongs to the run: open questions, the report."""
