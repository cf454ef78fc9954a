#!/bin/sh
# Creates the secrets of compose.yaml in ./secrets beside this script, or in the folder given as the
# argument. Run it as root: only the user of the containers that need a file may read it. Existing
# secrets are kept, so it is safe to repeat.
set -eu

kith=10001    # USER in the Dockerfile
postgres=999  # the official image's user
folder=${1:-$(dirname "$0")/secrets}

umask 077
mkdir -p "$folder"
chmod 0711 "$folder"

random() { od -An -v -tx1 -N32 /dev/urandom | tr -d ' \n'; }

if [ ! -e "$folder/jwt_secret" ]; then
    random > "$folder/jwt_secret"
fi
if [ ! -e "$folder/database_password" ]; then
    random > "$folder/database_password"
fi
# The same password in the form that PostgreSQL's clients read: host:port:database:user:password. The
# nodes of compose.citus.yaml are clients of each other.
printf '*:5432:kith:kith:%s\n' "$(cat "$folder/database_password")" > "$folder/pgpass"
cp "$folder/pgpass" "$folder/citus_pgpass"

chmod 0400 "$folder/jwt_secret" "$folder/database_password" "$folder/pgpass" "$folder/citus_pgpass"
chown "$kith:$kith" "$folder/jwt_secret" "$folder/pgpass"
chown "$postgres:$postgres" "$folder/database_password" "$folder/citus_pgpass"
