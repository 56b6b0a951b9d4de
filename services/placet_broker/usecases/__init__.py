"""What the broker does, one verb and noun a module; every surface goes through these."""

from dataclasses import dataclass

from placet_broker.usecases.answer_batch import AnswerBatch
from placet_broker.usecases.answer_input import AnswerInput
from placet_broker.usecases.attend_input import AttendInput
from placet_broker.usecases.close_input import CloseInput
from placet_broker.usecases.export_audit import ExportAudit
from placet_broker.usecases.link_input import LinkInput
from placet_broker.usecases.mark_applied import MarkApplied
from placet_broker.usecases.open_request import OpenRequest
from placet_broker.usecases.read_inputs import ReadInputs, Waiters
from placet_broker.usecases.sweep_due import SweepDue


@dataclass(frozen=True, slots=True)
class UseCases:
    """All of them, wired."""

    open_request: OpenRequest
    answer_input: AnswerInput
    answer_batch: AnswerBatch
    attend_input: AttendInput
    link_input: LinkInput
    export_audit: ExportAudit
    close_input: CloseInput
    mark_applied: MarkApplied
    read_inputs: ReadInputs
    waiters: Waiters
    sweep_due: SweepDue


__all__ = ["UseCases"]
