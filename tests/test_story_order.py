"""The text of a trace does not depend on the hash seed of the process: LangGraph keeps edges in a set."""

import os
import subprocess
import sys

import pytest

PRINT = """
from hitl_lab.course.attempt import traced
for name in ("parallel_sibling", "two_tasks_ask", "send_fan_out", "join_waits"):
    print(traced(name))
"""


@pytest.mark.slow
def test_the_same_text_in_processes_with_different_hash_seeds():
    texts = set()
    for seed in ("1", "2", "3"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        texts.add(subprocess.run([sys.executable, "-c", PRINT], env=env, capture_output=True, check=True).stdout)
    assert len(texts) == 1
