"""`%%hitl_trace`: record the runs of one notebook cell. `%load_ext hitl_lab` makes it known."""

from __future__ import annotations

from typing import Any


def load_ipython_extension(ipython: Any) -> None:
    """Register the cell magic; called by `%load_ext hitl_lab`."""
    from IPython.core.magic import needs_local_scope

    @needs_local_scope
    def hitl_trace(line: str, cell: str, local_ns: dict[str, Any] | None = None) -> Any:  # noqa: ARG001
        """%%hitl_trace [NAME]: run the cell, keep its trace as NAME (default: trace), and show the trace."""
        import hitl_lab

        name = line.strip() or "trace"
        if not name.isidentifier():
            raise ValueError(f"%%hitl_trace takes the name of a variable, not {name!r}.")
        if ipython.should_run_async(cell, transformed_cell=ipython.transform_cell(cell)):
            raise ValueError(
                "%%hitl_trace cannot run a cell with a top-level await: use `with hitl_lab.record() as trace:`."
            )
        with hitl_lab.record() as trace:
            result = ipython.run_cell(cell, store_history=False)
        # The trace is kept also when the cell raised: that is when it is wanted most.
        ipython.user_ns[name] = trace
        return trace if result.success else None

    ipython.register_magic_function(hitl_trace, "cell", "hitl_trace")
