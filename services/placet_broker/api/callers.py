"""Who calls the broker, and what they must be allowed."""

from typing import Annotated

from fastapi import Depends

from placet.process.access import caller
from placet.process.auth import Caller, Scope

Anybody = Annotated[Caller, Depends(caller())]
Reader = Annotated[Caller, Depends(caller(Scope.INPUTS_READ))]
Operator = Annotated[Caller, Depends(caller(Scope.OPERATE))]
