#!/bin/sh
# Sees to it that there is a Chromium, in which tests open the page of a report. It
# is the system's; a machine that has none and may not install one goes without.
set -eu
command -v chromium >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "chromium.sh: chromium is not installed, and this user may not install it" >&2
		exit 1
	}
	apt-get install -y -q --no-install-recommends chromium >/dev/null 2>&1 ||
		{ apt-get update -q >/dev/null 2>&1 && apt-get install -y -q --no-install-recommends chromium >/dev/null 2>&1; }
}
chromium --version
