#!/usr/bin/env bash
# twice.sh [PLATFORM,...|all]: are two builds of the last commit equal, byte by byte,
# and of all platforms, is what formula and manifest say of the archives true?
# The second has another directory, another cache of builds, another place for
# modules, another home, time zone, mask and language: nothing that the first has
# compiled can be taken for the second. With KEEP=1 it takes what the first has
# compiled, which is minutes less, and links and packs it anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
platforms=${1:-linux/amd64}
if [ "$platforms" = all ]; then platforms=; fi
GO=${GO:-go}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# Both are of the same commit, whatever is committed meanwhile.
git clone -q --shared ../../.. "$work/clone"
$GO build -o "$work/release" .
"$work/release" -version v0.0.1-twice -repo "$work/clone" -out "$work/one" -platforms "$platforms" >/dev/null
mkdir -p "$work/elsewhere/in a deeper/place"
cp "$work/release" "$work/elsewhere/in a deeper/place/"
git clone -q --shared "$work/clone" "$work/elsewhere/clone"
modules=$($GO env GOMODCACHE)
cache=$work/elsewhere/cache
if [ "${KEEP:-}" = 1 ]; then cache=$($GO env GOCACHE); fi
(
	cd "$work/elsewhere/clone"
	umask 077
	env TMPDIR="$work/elsewhere/in a deeper/place" HOME="$work/elsewhere" TZ=Asia/Kathmandu LC_ALL=C \
		GOCACHE="$cache" GOMODCACHE="$work/elsewhere/modules" GOPATH="$work/elsewhere/go" \
		GOPROXY="file://$modules/cache/download" GONOSUMDB='*' GOFLAGS=-modcacherw GOAMD64=v3 CGO_ENABLED=1 SOURCE_DATE_EPOCH=1 \
		"$work/elsewhere/in a deeper/place/release" -version v0.0.1-twice -repo . -out "$work/two" -platforms "$platforms" >/dev/null
)
diff -r "$work/one" "$work/two"
if [ -z "$platforms" ]; then $GO test -count=1 . -dist "$work/two"; fi
echo "equal: $(ls "$work/one" | wc -l) files, $(cat "$work"/one/* | wc -c) bytes"
