"""`look` and `changed`: they say what two fingerprints of a value would say, for less."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from hitl_lab.fingerprints import Look, changed, fingerprint, look


class Thing:
    def __init__(self, **fields):
        self.__dict__ = fields


leaves = st.one_of(st.none(), st.booleans(), st.integers(0, 2), st.sampled_from([0.0, 1.0, "", "a", "b", b"a"]))
small = st.one_of(leaves, st.lists(leaves, max_size=2), st.dictionaries(st.sampled_from("kl"), leaves, max_size=2))
fields = st.dictionaries(st.sampled_from("abcd"), small, max_size=4)
things = st.lists(fields.map(lambda f: Thing(**f)), min_size=1, max_size=4)


@st.composite
def before_and_change(draw):
    """A list of objects, and one thing that is done to it, mostly somewhere deep."""
    value = draw(things)
    item = draw(st.sampled_from(value)).__dict__
    way = draw(st.sampled_from(["nothing", "set", "inside", "copy", "drop", "add item", "other item"]))
    name = draw(st.sampled_from("abcd"))
    new = draw(small)

    def change():
        if way == "set":
            item[name] = new
        elif way == "inside" and isinstance(item.get(name), list):
            item[name].append(new)
        elif way == "inside" and isinstance(item.get(name), dict):
            item[name]["k"] = new
        elif way == "copy" and name in item:
            item[name] = copy.deepcopy(item[name])
        elif way == "drop":
            item.pop(name, None)
        elif way == "add item":
            value.append(Thing())
        elif way == "other item":
            value[0] = copy.deepcopy(value[0])

    return value, change


@settings(max_examples=1_000, deadline=None)
@given(before_and_change())
def test_a_look_tells_what_fingerprints_tell(case):
    value, change = case
    seen, printed = look(value), fingerprint(value)
    assert type(seen) is Look
    assert not changed(seen, value)
    change()
    assert changed(seen, value) == (fingerprint(value) != printed)


def talk(size, **more):
    return [AIMessage(f"text {i}", id=f"m{i}", **copy.deepcopy(more)) for i in range(size)]


@pytest.mark.parametrize("more", [{}, {"response_metadata": {"usage": {"in": 1}}, "additional_kwargs": {"k": [1, 2]}}])
@pytest.mark.parametrize("size", [1, 5, 6, 60])
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m: None, False),
        (lambda m: setattr(m, "content", "other"), True),
        (lambda m: setattr(m, "content", "".join(["text ", m.id[1:]])), False),
        (lambda m: m.tool_calls.append({"name": "pay", "args": {}, "id": "1"}), True),
        (lambda m: m.response_metadata.update(model="x"), True),
        (lambda m: m.response_metadata.setdefault("usage", {}).update({"in": 2}), True),
        (lambda m: setattr(m, "response_metadata", copy.deepcopy(m.response_metadata)), False),
        (lambda m: setattr(m, "tool_calls", []), False),
        (lambda m: setattr(m, "name", 0), True),
    ],
)
def test_a_message_that_is_changed_in_place_is_seen(change, told, size, more):
    for at in {0, size - 1, max(0, size - 4)}:
        value = talk(size, **more)
        seen = look(value)
        assert type(seen) is Look
        change(value[at])
        assert changed(seen, value) is told


def test_what_no_look_fits_is_told_by_its_fingerprint():
    for value in (["text"], [[1], {"k": 2}], [{1, 2}], {"k": [1]}, [print], [Thing(a={1})], [Thing(a=Thing(b=1))]):
        seen = look(value)
        assert type(seen) is not Look
        assert not changed(seen, value)
    value = {"k": [1]}
    seen = look(value)
    value["k"].append(2)
    assert changed(seen, value)


def test_an_empty_list_and_one_that_is_emptied():
    value = []
    seen = look(value)
    assert not changed(seen, value)
    value.append(HumanMessage("hello"))
    assert changed(seen, value)
    seen = look(value)
    value.clear()
    assert changed(seen, value)


def test_a_value_that_cannot_be_looked_at_is_not_told_as_changed():
    class Odd(list):
        def __len__(self):
            raise RuntimeError

    class Slots:
        __slots__ = ("a",)

    value = Odd()
    assert not changed(look(value), value)
    value = [Slots()]
    assert not changed(look(value), value)
    value = [Thing(many=[[1] for _ in range(2)], **{f"f{i}": [1] for i in range(30)})]
    assert not changed(look(value), value)
