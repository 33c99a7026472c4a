#!/bin/sh
# Sees to it that there is a tcpdump, which captures what passes on loopback. It is
# the system's; a machine that has none and may not install one goes without.
set -eu
PATH=$PATH:/usr/sbin:/sbin
command -v tcpdump >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "tcpdump.sh: tcpdump is not installed, and this user may not install it" >&2
		exit 1
	}
	apt-get install -y -q tcpdump >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q tcpdump >/dev/null 2>&1; }
}
tcpdump --version 2>&1 | head -n 1
