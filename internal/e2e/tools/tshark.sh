#!/bin/sh
# Sees to it that there is a tshark, which reads captures beside us. It is the
# system's; a machine that has none and may not install one goes without.
set -eu
command -v tshark >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "tshark.sh: tshark is not installed, and this user may not install it" >&2
		exit 1
	}
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -q tshark >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q tshark >/dev/null 2>&1; }
}
tshark --version 2>/dev/null | head -n 1
