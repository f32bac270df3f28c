"""The subcommands of ``hitl-lab``, one file each.

A file ``hitl_lab/commands/some_name.py`` that holds a ``click`` command called ``command`` is ``hitl-lab some-name``:
there is no list to add it to. ``hitl-lab --help`` imports every file here, so a file imports what is slow (langgraph
takes over a second) inside its function. Names with a leading underscore are helpers, not commands.
"""
