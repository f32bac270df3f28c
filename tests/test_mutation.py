"""A value changed in place: counts where it races, fixed where no thread decides."""

from hitl_lab import mutation
from hitl_lab.mutation import Count

STABLE = """\
seen after the pause           saver   sync  async   exit
send before interrupt()        memory  0/3   0/3     0/3
send before interrupt()        sqlite  0/3   0/3     0/3
mutate the state object        memory  0/3   varies  3/3
mutate the state object        sqlite  0/3   varies  3/3
mutate, after an earlier node  memory  0/3   varies  3/3
mutate, after an earlier node  sqlite  0/3   varies  3/3"""


def test_the_table_is_stable_where_nothing_races():
    done = []
    found = mutation.measure_all(3, progress=done.append)
    assert mutation.table(found, stable=True) == STABLE
    assert len(done) == 6
    assert all(0 <= count.seen <= count.n == 3 for count in found.values())


def test_counts():
    assert str(Count(23, 40)) == "23/40"
    assert [Count(seen, 4).racing for seen in (0, 2, 4)] == [False, True, False]
