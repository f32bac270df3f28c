"""An entrypoint starts two tasks, then asks; the functional API.

The tasks' results are saved and handed back at the resume, the entrypoint itself runs again from its top. In the second
story a task asks: it runs again, its finished neighbour does not.
"""

from functools import partial

from langgraph.func import entrypoint, task
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario


@task
def double(number):
    return number * 2


@task
def confirm(number):
    return number if interrupt(f"Is {number} right?") == "yes" else 0


@task(name="double")
async def adouble(number):
    return number * 2


@task(name="confirm")
async def aconfirm(number):
    return number if interrupt(f"Is {number} right?") == "yes" else 0


def build(saver):
    @entrypoint(checkpointer=saver)
    def order(numbers):
        running = [double(number) for number in numbers]
        total = sum(started.result() for started in running)
        return {"total": total, "answer": interrupt(f"Pay {total}?")}

    return order


def abuild(saver):
    @entrypoint(checkpointer=saver)
    async def order(numbers):
        running = [adouble(number) for number in numbers]
        total = sum([await started for started in running])
        return {"total": total, "answer": interrupt(f"Pay {total}?")}

    return order


def build_asking(saver):
    @entrypoint(checkpointer=saver)
    def order(number):
        doubled, confirmed = double(number), confirm(number)
        return {"doubled": doubled.result(), "confirmed": confirmed.result()}

    return order


def abuild_asking(saver):
    @entrypoint(checkpointer=saver)
    async def order(number):
        doubled, confirmed = adouble(number), aconfirm(number)
        return {"doubled": await doubled, "confirmed": await confirmed}

    return order


functional = partial(Scenario, topic="functional API")

SCENARIOS = (
    functional(
        name="functional_tasks",
        title="An entrypoint that asks runs again, its tasks' results are cached",
        build=build,
        abuild=abuild,
        story=(Invoke([1, 2]), Resume("yes")),
    ),
    functional(
        name="functional_task_asks",
        title="A task that asks runs again, the finished one beside it does not",
        build=build_asking,
        abuild=abuild_asking,
        story=(Invoke(3), Resume("yes")),
    ),
)
