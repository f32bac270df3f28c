"""A task appends to the list that its entrypoint gave it, then the entrypoint asks twice.

A task's result is saved, what it did to its argument is not: at the resume the task does not run, and the list is as
empty as the entrypoint made it. Only what a task returns comes back.
"""

from langgraph.func import entrypoint, task
from langgraph.types import interrupt

from ._scenario import Invoke, Resume, Scenario


@task
def remember(answers, answer):
    answers.append(answer)
    return answer


@task(name="remember")
async def aremember(answers, answer):
    answers.append(answer)
    return answer


def build(saver):
    @entrypoint(checkpointer=saver)
    def form(title):
        answers = []
        remember(answers, interrupt("First?")).result()
        remember(answers, interrupt("Second?")).result()
        return answers

    return form


def abuild(saver):
    @entrypoint(checkpointer=saver)
    async def form(title):
        answers = []
        await aremember(answers, interrupt("First?"))
        await aremember(answers, interrupt("Second?"))
        return answers

    return form


SCENARIO = Scenario(
    name="functional_mutation",
    title="What a task does to its argument is not saved, only what it returns",
    build=build,
    abuild=abuild,
    story=(Invoke("form"), Resume(1), Resume(2)),
    topic="functional API",
    cases=("A26",),
)
