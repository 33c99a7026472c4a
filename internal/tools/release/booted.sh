#!/usr/bin/env bash
# booted.sh DEB NEWER_DEB RPM NEWER_RPM: does the service work under a systemd that is
# booted, as docs/releasing.md says? Boots a fresh tree of Debian without a network,
# and there runs inside.sh. Needs root, debootstrap and systemd-nspawn.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
fail() {
	printf 'booted: %s\n' "$*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail 'it needs root, to boot a tree'
for tool in debootstrap systemd-nspawn; do
	command -v "$tool" >/dev/null || fail "there is no $tool here: apt-get install debootstrap systemd-container"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/debian
base=$("$here/debian.sh")
cp -a "$base" "$tree"
cp "$1" "$tree/root/old.deb"
cp "$2" "$tree/root/new.deb"
cp "$3" "$tree/root/old.rpm"
cp "$4" "$tree/root/new.rpm"
install -m 755 "$here/inside.sh" "$tree/root/inside.sh"
cat >"$tree/etc/systemd/system/try.service" <<'UNIT'
[Unit]
Wants=dbus.service multi-user.target
After=basic.target dbus.service
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/bin/bash -c '{ /root/inside.sh deb && /root/inside.sh rpm; } >/root/log 2>&1; echo $? >/root/code'
UNIT
timeout 600 systemd-nspawn --quiet --register=no --keep-unit --private-network -D "$tree" -b --console=pipe systemd.unit=try.service </dev/null >"$work/console" 2>&1 || true
[ -e "$tree/root/code" ] || {
	tail -20 "$work/console"
	fail 'it was not booted'
}
cat "$tree/root/log"
[ "$(cat "$tree/root/code")" = 0 ] || fail 'the service does not do what the docs say'
echo '  booted: all of it works'
