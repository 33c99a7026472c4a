#!/bin/sh
# Sees to it that there is a tmux, in which tests look at the screen. It is the
# system's; a machine that has none and may not install one goes without.
set -eu
command -v tmux >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "tmux.sh: tmux is not installed, and this user may not install it" >&2
		exit 1
	}
	apt-get install -y -q tmux >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q tmux >/dev/null 2>&1; }
}
tmux -V
