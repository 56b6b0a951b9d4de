"""Write RabbitMQ's definitions: the topology, and Placet's users with passwords from the environment.

`python definitions.py TOPOLOGY.json USERS.json OUT.json`; plain Python, nothing to install.
"""

import base64
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VHOST = "/"


def definitions(
    topology: Mapping[str, Any], users: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Any]:
    """What RabbitMQ loads at boot. Exits naming the variable of a password that is missing."""
    return {
        "vhosts": [{"name": VHOST}],
        "users": [
            {
                "name": user["name"],
                "tags": user["tags"],
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "password_hash": password_hash(_password(environment, user["password_from"])),
            }
            for user in users["users"]
        ],
        "permissions": users["permissions"],
        **topology,
    }


def password_hash(password: str) -> str:
    """A salted hash as RabbitMQ keeps it."""
    salt = secrets.token_bytes(4)
    digest = hashlib.sha256(salt + password.encode()).digest()
    return base64.b64encode(salt + digest).decode()


def _password(environment: Mapping[str, str], name: str) -> str:
    password = environment.get(name, "")
    if not password:
        sys.exit(f"{name} is missing: the password of one of Placet's RabbitMQ users")
    return password


def main(topology: str, users: str, out: str) -> None:
    """Read both files, write the third."""
    made = definitions(
        json.loads(Path(topology).read_text()), json.loads(Path(users).read_text()), os.environ
    )
    Path(out).write_text(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
