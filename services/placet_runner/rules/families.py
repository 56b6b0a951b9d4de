"""What passes between a run and the runs below it, and from one turn of an agent to the next."""

from collections.abc import Sequence

from placet.domain.heritage import Birth, ChildEnd, Heritage, last_words
from placet.domain.label import Label
from placet.domain.run import HUSH, Message, RunStatus
from placet.ids import derived_id
from placet.messages import CommandName, RunCommand
from placet_runner.rules.runs import CHILD, NEXT, Document, close_entry, command_entry, is_child


def heritage_of(document: Document) -> Heritage:
    """What a run has from the runs above it, and from whoever started it."""
    return Heritage.model_validate(document.get("heritage", {}))


def child_entry(run_id: str, birth: Birth) -> Document:
    """A child run as its parent waits for it; whole, so that it can be started again."""
    return _run_entry(CHILD, run_id, birth)


def _run_entry(kind: str, run_id: str, birth: Birth) -> Document:
    return {
        "id": run_id,
        "kind": kind,
        "call": birth.call_id,
        "request": birth.model_dump(mode="json"),
        "resolution": None,
        "closing": None,
    }


def start_entry(run_id: str, namespace: str, birth: Birth) -> Document:
    """Start this run, made from this if it does not exist."""
    return command_entry(
        RunCommand(command=CommandName.START, run_id=run_id, namespace=namespace, birth=birth),
        f"{run_id}.born",
    )


def again_entry(document: Document, entry: Document) -> Document:
    """The start of a child, or of the next turn, once more: a child that has ended says so again.

    The messages of a next turn stay in the run that held them: all of them may be more than a message
    on the bus takes.
    """
    birth = Birth.model_validate(entry["request"])
    if entry["kind"] == NEXT:
        birth = birth.model_copy(update={"messages": ()})
    return start_entry(entry["id"], document["namespace"], birth)


def held_messages(document: Document, run_id: str) -> tuple[Message, ...]:
    """What a run that has ended holds for its agent's next run."""
    found = [entry for entry in document["waiting"] if entry["id"] == run_id]
    return Birth.model_validate(found[0]["request"]).messages if found else ()


def stop_entry(document: Document, entry: Document) -> Document:
    """End a child run; one that does not exist yet never will run."""
    command = RunCommand(
        command=CommandName.ABORT,
        run_id=entry["id"],
        namespace=document["namespace"],
        birth=Birth.model_validate(entry["request"]),
    )
    return command_entry(command, f"{entry['id']}.stop")


def ending_entry(document: Document, entry: Document, reason: str = "cancelled") -> Document:
    """The wish to end what a run waits for and will not take any more: a run below it, or a question."""
    if is_child(entry):
        return stop_entry(document, entry)
    return close_entry(document, entry, reason)


def hush_entry(document: Document, entry: Document, message_id: str) -> Document:
    """Tell a child that a message came to its root: what it asks is closed, and it goes on."""
    hush = Message(id=derived_id("msg", message_id, entry["id"]), text="", mode=HUSH)
    command = RunCommand(
        command=CommandName.MESSAGE,
        run_id=entry["id"],
        namespace=document["namespace"],
        message=hush,
    )
    return command_entry(command, f"{hush.id}.told")


def end_entries(
    document: Document, status: RunStatus, text: str = "", label: Label = Label.PUBLIC
) -> list[Document]:
    """How a run ended, for its parent, if it has one.

    One that was cancelled tells nothing of what it had been told.
    """
    parent = document.get("parent")
    if not parent:
        return []
    if status is RunStatus.CANCELLED:
        text, label = "cancelled", Label.PUBLIC
    end = ChildEnd(run_id=document["_id"], status=status, text=last_words(text), label=label)
    command = RunCommand(
        command=CommandName.CHILD,
        run_id=parent["run_id"],
        namespace=document["namespace"],
        child=end,
    )
    return [command_entry(command, f"{document['_id']}.ended")]


def next_turn(document: Document, held: Sequence[Message]) -> Document:
    """The agent's next run, for messages that this one could not take any more.

    The run that has ended keeps it among what is open until it is begun.
    """
    run_id = derived_id("run", document["_id"], "next")
    birth = Birth(
        agent=document["agent"],
        agent_id=document["agent_id"],
        messages=tuple(held),
        initiator=held[0].sender,
        after_run_id=document["_id"],
        heritage=Heritage(unattended=heritage_of(document).unattended),
    )
    return _run_entry(NEXT, run_id, birth)


def ended_again(document: Document) -> list[Document]:
    """The end of a child that has ended, told once more: its first telling may be lost."""
    text = document.get("text") or (document.get("error") or {}).get("message") or ""
    label = Label(document.get("label", Label.PRIVATE))
    return end_entries(document, RunStatus(document["status"]), text, label)


def children_of(waiting: Sequence[Document]) -> list[Document]:
    """The runs among what is waited for."""
    return [entry for entry in waiting if is_child(entry)]
