"""Which installed lines are shown beside an event."""

import ast

from hitl_lab.tracing.installed_source import _branch

INSIDE = [*(f"x{n} = {n}" for n in range(30)), "@wrap", "def g():", "    return 1", "y = 2"]
LONG = ["def f():", "    if a:", *(f"        {line}" for line in INSIDE)]


def test_a_line_that_is_no_statements_own():
    (function,) = ast.parse("\n".join(LONG)).body
    decorator = LONG.index("        @wrap") + 1
    assert _branch(function, decorator) == [decorator]
    assert 5 in _branch(function, 5)
