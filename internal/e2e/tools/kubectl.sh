#!/bin/sh
# Sees to it that there is a kubectl: what the plugin prints is pasted into it, and
# it has to find the plugin. It is the system's; no cluster is needed.
set -eu
command -v kubectl >/dev/null || {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || {
		echo "kubectl.sh: kubectl is not installed, and this user may not install it" >&2
		exit 1
	}
	apt-get install -y -q kubernetes-client >/dev/null 2>&1 || { apt-get update -q >/dev/null 2>&1 && apt-get install -y -q kubernetes-client >/dev/null 2>&1; }
}
kubectl version --client 2>/dev/null | head -1
