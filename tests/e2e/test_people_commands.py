"""`placet people`, `groups`, `delegate`, `delegations`, and `keys` at a server, as people run them."""

from pathlib import Path

from tests.support.commands import Dev, clean, placet


def test_people_are_set_linked_listed_and_disabled(dev: Dev) -> None:
    made = dev.placet("people", "set", "ann", "--name", "Ann", "--email", "ann@x", "--json")
    assert made.code == 0, made.err
    assert (made.json["id"], made.json["name"]) == ("ann", "Ann")
    assert dev.placet("people", "link", "ann", "slack:U1").code == 0
    assert dev.placet("people", "set", "ben").code == 0
    taken = dev.placet("people", "link", "ben", "slack:U1")
    assert taken.code == 5
    assert "ann" in taken.err
    listed = dev.placet("people", "list").out
    assert "slack:U1" in listed
    assert "enabled" in listed
    assert dev.placet("people", "unlink", "ann", "slack:U1", "--json").json["identities"] == []
    assert "disabled" in dev.placet("people", "disable", "ann").out
    assert dev.placet("people", "show", "ann", "--json").json["disabled_at"]
    assert dev.placet("people", "set", "ann", "--enable", "--json").json["disabled_at"] is None
    assert dev.placet("people", "show", "nobody").code == 3
    assert dev.placet("people", "set", "service:ci").code == 1


def test_groups_are_set_grown_and_deleted(dev: Dev) -> None:
    made = dev.placet("groups", "set", "ops", "ann", "ben", "--json")
    assert made.json["members"] == ["ann", "ben"]
    assert "ann, ben, cid" in dev.placet("groups", "add", "ops", "cid").out
    assert dev.placet("groups", "remove", "ops", "ann", "--json").json["members"] == ["ben", "cid"]
    assert "ops" in dev.placet("groups", "list").out
    assert dev.placet("groups", "delete", "ops").code == 0
    assert dev.placet("groups", "list", "--json").json == []
    assert dev.placet("groups", "add", "ops", "cid").code == 3


def test_answering_is_delegated_for_a_time_and_ended(dev: Dev) -> None:
    made = dev.placet("delegate", "ben", "--from", "ann", "--until", "3d", "--json")
    assert made.code == 0, made.err
    assert (made.json["from"], made.json["to"]) == ("ann", "ben")
    circle = dev.placet("delegate", "ann", "--from", "ben", "--until", "2d")
    assert circle.code == 5
    assert "in force" in dev.placet("delegations", "list").out
    assert dev.placet("delegations", "end", made.json["id"]).code == 0
    assert dev.placet("delegations", "list", "--json").json == []
    assert len(dev.placet("delegations", "list", "--all", "--json").json) == 1
    for until in ("tomorrow", "2020-01-01", "9999w"):
        assert dev.placet("delegate", "ben", "--from", "ann", "--until", until).code == 1
    assert dev.placet("delegations", "end", "dlg_none").code == 3


def test_a_person_delegates_their_own_with_their_own_key(dev: Dev) -> None:
    key = dev.placet("keys", "create", "laptop", "--person", "dan", "--json").json["key"]
    mine = {"PLACET_KEY": key}
    told = dev.placet("delegate", "eve", "--until", "12h", **mine)
    assert told.code == 0
    assert "eve answers in the place of dan until" in told.err
    assert dev.placet("delegate", "eve", "--until", "12h", "--from", "ann", **mine).code == 4
    assert dev.placet("people", "set", "dan", **mine).code == 4


def test_keys_are_made_at_the_server_that_is_named(dev: Dev) -> None:
    made = dev.placet("keys", "create", "ci", "--service", "deploys", "--days", "30", "--json")
    assert made.code == 0, made.err
    assert made.json["expires_at"]
    held = dev.placet("people", "list", PLACET_KEY=made.json["key"])
    assert held.code == 0
    assert made.json["id"] in dev.placet("keys", "list").out
    words = ("keys", "user", "svc-mine", "--service", "mine", "--json")
    assert dev.placet(*words).json["id"] == "amqp:svc-mine"
    assert dev.placet("keys", "revoke", made.json["id"]).code == 0
    assert dev.placet("people", "list", PLACET_KEY=made.json["key"]).code == 4
    other = dev.placet("keys", "list", "--namespace", "another")
    assert other.code == 1
    assert "PLACET_KEY" in other.err
    assert dev.placet("keys", "create", "x", "--person", "a", "--days", "-1").code == 1
    without = placet("keys", "list", env=clean(PLACET_URL=dev.url))
    assert without.code == 2
    assert "PLACET_KEY" in without.err


def test_keys_go_where_the_database_is_named_whatever_server_is_set(
    dev: Dev, tmp_path: Path
) -> None:
    env = clean(PLACET_URL=dev.url, PLACET_KEY="plc_of_nobody", PLACET_DATA=str(tmp_path))
    made = placet("keys", "create", "laptop", "--person", "alice", "--json", env=env)
    assert made.code == 0, made.err
    listed = placet("keys", "list", "--json", env=env)
    assert [each["name"] for each in listed.json] == ["laptop"]
    assert (tmp_path / "placet_auth.db").exists()
