#!/bin/sh
# needs.sh COMMAND=PACKAGE...: sees to it that there are these commands. They are the
# system's, of packages of Debian; a machine that has not all of them, and where this
# user may not install them, goes without.
set -eu
missing=
for need; do
	command -v "${need%%=*}" >/dev/null || missing="$missing ${need#*=}"
done
[ -n "$missing" ] || exit 0
[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
	echo "needs.sh: not installed, and this user may not install:$missing" >&2
	exit 1
}
# shellcheck disable=SC2086 # a list of words
apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1 ||
	{ apt-get update -q >/dev/null 2>&1 && apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1; }
