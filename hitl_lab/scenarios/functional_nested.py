"""An entrypoint runs a task, then calls another entrypoint, which runs a task and asks.

At the resume both entrypoints run again from their tops, neither task does.
"""

from langgraph.func import entrypoint, task
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario


@task
def outer_task(number):
    return number + 1


@task
def inner_task(number):
    return number * 10


@task(name="outer_task")
async def aouter_task(number):
    return number + 1


@task(name="inner_task")
async def ainner_task(number):
    return number * 10


def build(saver):
    @entrypoint()
    def inner(number):
        ten = inner_task(number).result()
        return f"{ten}: {interrupt(f'Is {ten} right?')}"

    @entrypoint(checkpointer=saver)
    def outer(number):
        return inner.invoke(outer_task(number).result())

    return outer


def abuild(saver):
    @entrypoint()
    async def inner(number):
        ten = await ainner_task(number)
        return f"{ten}: {interrupt(f'Is {ten} right?')}"

    @entrypoint(checkpointer=saver)
    async def outer(number):
        return await inner.ainvoke(await aouter_task(number))

    return outer


SCENARIO = Scenario(
    name="functional_nested",
    title="A question in an entrypoint inside an entrypoint",
    build=build,
    abuild=abuild,
    story=(Invoke(1), Resume("yes")),
    topic="functional API",
    cases=("A25",),
)
