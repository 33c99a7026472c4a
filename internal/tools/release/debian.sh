#!/usr/bin/env bash
# debian.sh: makes a tree of Debian 12 with systemd, rpm and what the docs of a package
# need, and with nothing of ours, where there is none yet, and prints where it is.
# Needs root and debootstrap.
set -euo pipefail
base=${DEBIAN_TREE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/.tools/debian}
if [ ! -x "$base/lib/systemd/systemd" ] || [ ! -x "$base/usr/bin/rpm" ]; then
	echo '  -- a fresh tree of Debian 12' >&2
	rm -rf "$base" "$base.part"
	mkdir -p "$(dirname "$base")"
	debootstrap --variant=minbase --include=man-db,bash-completion,ca-certificates,systemd,dbus,rpm bookworm "$base.part" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$base.log" 2>&1 ||
		{
			tail -5 "$base.log" >&2
			echo 'debian: debootstrap failed' >&2
			exit 1
		}
	rm "$base.log"
	mv "$base.part" "$base"
fi
echo "$base"
