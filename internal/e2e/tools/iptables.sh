#!/bin/sh
# Sees to it that there is an iptables and an ip, with which a test redirects
# connections in a network namespace of its own. They are the system's; a machine
# that has none and may not install them goes without.
set -eu
PATH=$PATH:/usr/sbin:/sbin
command -v iptables >/dev/null && command -v ip >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "iptables.sh: iptables and ip are not installed, and this user may not install them" >&2
		exit 1
	}
	apt-get install -y -q iptables iproute2 >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q iptables iproute2 >/dev/null 2>&1; }
}
iptables --version
