#!/bin/bash
# Members of a replica set know each other by a key; it comes from the environment, into a file that
# only mongod may read. The rest is the image's own start.
set -euo pipefail

: "${REPLICA_KEY:?is missing: what the members of the replica set know each other by}"
umask 077
printf '%s' "$REPLICA_KEY" >/tmp/replica.key
chown mongodb:mongodb /tmp/replica.key
unset REPLICA_KEY
exec docker-entrypoint.sh mongod --replSet rs0 --keyFile /tmp/replica.key --bind_ip_all
