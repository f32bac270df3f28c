"""What becomes of a write that got no further: the moment from which `next` counts."""

from hitl_lab.course.attempt import traced


def test_a_finished_sibling_is_not_lost_because_it_was_not_next_while_it_was_pending():
    """It was done then. The update discarded it, after that it was next again, and it ran again."""
    (row,) = traced("update_discards_sibling").ledger.where(node="lookup", run="run 1")
    assert (row.fate, row.rewritten_by, row.discarded_by) == ("discarded", "run 2", "update 1")
