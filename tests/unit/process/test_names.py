"""On whose behalf a run starts or a message comes is named by the same rule as who answers."""

import pytest
from pydantic import ValidationError

from placet_runner.api import MessageBody, StartBody

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("user", ["", " ", "é" * 101, "bo\u200bb", "\u202ebob", "a\nb", "b\u2800"])
def test_a_user_with_something_unseen_in_the_name_starts_and_tells_nothing(user: str) -> None:
    with pytest.raises(ValidationError, match="user"):
        StartBody(input="go", user=user)
    with pytest.raises(ValidationError, match="user"):
        MessageBody(text="go", user=user)
    assert StartBody(input="go", user="Боб").user == "Боб"
