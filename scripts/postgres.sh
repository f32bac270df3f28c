#!/bin/bash
# A private PostgreSQL server for the tests and the notebooks: on 127.0.0.1 only, on a free port, with a password of
# its own, and with all its files in one folder that `stop` deletes.
#
#   scripts/postgres.sh start [FOLDER]    start it (or find it running) and print its address, a DSN
#   scripts/postgres.sh stop  [FOLDER]    stop it and delete its data
#   scripts/postgres.sh available         exit code 0 if the server's programs are installed
#
# FOLDER defaults to one in the temporary directory: as root the server runs as the user "postgres", who can seldom
# look into a checkout.
set -euo pipefail

say() { echo "postgres.sh: $*" >&2; }
die() { say "$*"; exit 1; }

binaries() {
    local folder newest=
    # Debian and Ubuntu keep the server's programs off PATH, a folder per version; the newest comes last.
    for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V); do
        [ -x "$folder/initdb" ] && newest=$folder
    done
    if [ -z "$newest" ] && command -v initdb > /dev/null && command -v pg_ctl > /dev/null; then
        newest=$(dirname "$(command -v initdb)")
    fi
    [ -n "$newest" ] && echo "$newest"
}

# PostgreSQL refuses to run as root.
as_server() {
    if [ "$(id -u)" = 0 ]; then
        runuser -u postgres -- "$@"
    else
        "$@"
    fi
}

running() {
    [ -f "$folder/data/postmaster.pid" ] && as_server "$bin/pg_ctl" -D "$folder/data" status > /dev/null 2>&1
}

random() { od -An -N"$1" -t"$2" /dev/urandom | tr -d ' \n'; }

make_folder() {
    # mkdir without -p: it fails where somebody else put a folder or a link of that name into the temporary directory.
    mkdir -m 700 "$folder" || die "cannot make $folder. If it is left over: scripts/postgres.sh stop '$folder'"
    : > "$folder/hitl-lab-postgres"
    (umask 077 && random 16 x1 > "$folder/password")
    [ "$(id -u)" != 0 ] || chown -R postgres "$folder"
    # --no-sync, fsync=off: this server is thrown away, and what is tested is the death of a client, not of the disk.
    as_server "$bin/initdb" -D "$folder/data" -U hitl_lab --pwfile="$folder/password" --auth=scram-sha-256 \
        --encoding=UTF8 --locale=C --no-sync > "$folder/initdb.log" 2>&1 || die "initdb failed: $(cat "$folder/initdb.log")"
}

start_server() {
    local port options
    for _ in $(seq 20); do
        # Chosen and tried, not looked for and then used: between the two another program could take it.
        port=$((20000 + $(random 2 u2) % 40000))
        options="-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        options+=" -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"
        # All three streams closed: a caller that reads our output would wait as long as the server lives.
        if as_server "$bin/pg_ctl" -D "$folder/data" -l "$folder/server.log" -w -t 60 -s -o "$options" start \
            < /dev/null > /dev/null 2>&1; then
            (umask 077 && echo "postgresql://hitl_lab:$(cat "$folder/password")@127.0.0.1:$port/postgres" > "$folder/dsn")
            return
        fi
        grep -q "Address already in use" "$folder/server.log" || break
        : > "$folder/server.log"
    done
    die "the server did not start: $(tail -n 20 "$folder/server.log")"
}

folder=${2:-${TMPDIR:-/tmp}/hitl-lab-postgres.$(id -u)}
case ${1:-} in
    available)
        binaries > /dev/null
        ;;
    start)
        bin=$(binaries) || die "no PostgreSQL server here. Debian, Ubuntu: apt-get install postgresql"
        [ "$(id -u)" != 0 ] || id postgres > /dev/null 2>&1 || die "running as root needs a user named postgres"
        if [ -f "$folder/hitl-lab-postgres" ] && [ -f "$folder/data/PG_VERSION" ]; then
            running || start_server
        else
            make_folder
            start_server
        fi
        cat "$folder/dsn"
        ;;
    stop)
        [ -e "$folder" ] || exit 0
        # Only ever delete what `start` made.
        [ -f "$folder/hitl-lab-postgres" ] || die "$folder was not made by this script; it stays"
        if bin=$(binaries) && running; then
            as_server "$bin/pg_ctl" -D "$folder/data" -m immediate -w -s stop
        fi
        rm -rf "$folder"
        ;;
    *)
        die "usage: scripts/postgres.sh start|stop [FOLDER], or available"
        ;;
esac
