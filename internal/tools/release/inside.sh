#!/usr/bin/env bash
# inside.sh deb|rpm: what booted.sh runs in a tree of Debian that is booted, beside
# /root/old.deb, new.deb, old.rpm and new.rpm. An rpm is installed by rpm itself, which
# runs its scripts as Red Hat's systems do; only what it recommends is not looked for.
set -euo pipefail
format=$1
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root
cd /root
config=/etc/xdsproxy/config.yaml

step() { printf '  -- %s, booted: %s\n' "$format" "$*"; }
fail() {
	printf 'inside: %s\n' "$*"
	journalctl -u xdsproxy --no-pager -n 20
	exit 1
}
show() { systemctl show xdsproxy -P "$1"; }
quietly() { "$@" >/tmp/out 2>&1 || { cat /tmp/out; fail "failed: $*"; }; }
until_() { # until_ WHAT COMMAND...: waits until the command succeeds
	local what=$1
	shift
	for _ in $(seq 300); do
		if "$@" 2>/dev/null; then return; fi
		sleep 0.2
	done
	fail "never: $what"
}
ready() {
	exec 3<>/dev/tcp/127.0.0.1/9901
	printf 'GET /readyz HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3
	head -1 <&3 | grep -q ' 200 '
}
said() { journalctl --no-pager "_PID=$pid" | grep -q "$1"; }
install_() {
	case $format in
	deb) quietly apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold "./$1.deb" ;;
	rpm) quietly rpm -U --nodeps --replacefiles "$1.rpm" ;;
	esac
}
remove() {
	case $format in
	deb) quietly apt-get remove -y xdsproxy ;;
	rpm) quietly rpm -e xdsproxy ;;
	esac
}
is() { [ "$(show "$1")" = "$2" ]; }
# configured SED...: the configuration as installed, changed, and the service with it.
configured() {
	cp "$config.installed" "$config"
	sed -i "$@" "$config"
	quietly systemctl restart xdsproxy
	until_ ready ready
	is ActiveState active || fail "it is $(show ActiveState)"
}

step 'installed, neither enabled nor started'
install_ old
[ "$(systemctl is-enabled xdsproxy)" = disabled ] || fail 'it is enabled'
is ActiveState inactive || fail 'it is started'
cp "$config" "$config.installed"

step 'without a control plane it ends with 2, and is not started again'
systemctl start xdsproxy || true
until_ 'it fails' is ActiveState failed
is ExecMainStatus 2 && is NRestarts 0 || fail "it ended with $(show ExecMainStatus), and was started again $(show NRestarts) times"
systemctl reset-failed xdsproxy

step 'enabled and started, a control plane and clients on its two sides'
rm -f /tmp/demo.xdsp
quietly xdsproxy demo --once -w /tmp/demo.xdsp
sed -i 's|^#upstream:.*|upstream: 127.0.0.1:18001|' "$config"
quietly systemctl enable --now xdsproxy
until_ ready ready
xdsproxy replay /tmp/demo.xdsp --as server --listen 127.0.0.1:18001 >/tmp/server 2>&1 &
until_ 'the control plane listens' grep -q '^listening' /tmp/server
quietly xdsproxy replay /tmp/demo.xdsp --as client --target 127.0.0.1:18000
wait $! || fail "the control plane: $(cat /tmp/server)"
grep -q 'no difference' /tmp/out || fail "$(cat /tmp/out)"
pid=$(show MainPID)
until_ 'the journal has a finding' said 'warn nack-received'
quietly xdsproxy check /var/lib/xdsproxy/recordings
grep -q nack-received /tmp/out || fail "check found something else: $(cat /tmp/out)"

step 'its user, its rights, its filters'
grep -q '^CapBnd:[[:space:]]*0*$' "/proc/$pid/status" && grep -q '^CapEff:[[:space:]]*0*$' "/proc/$pid/status" || fail 'it has capabilities'
grep -q '^NoNewPrivs:[[:space:]]*1$' "/proc/$pid/status" && grep -q '^Seccomp:[[:space:]]*2$' "/proc/$pid/status" || fail 'it has no filter of system calls'
if grep -q '^Uid:[[:space:]]*0[[:space:]]' "/proc/$pid/status"; then fail 'it is root'; fi
[ "$(stat -c %a /var/lib/private/xdsproxy)" = 700 ] || fail 'others can look into its directory'
[ -z "$(find /var/lib/private/xdsproxy -type f ! -perm 600)" ] || fail 'others can read a recording'
systemd-analyze security --no-pager --threshold=15 xdsproxy | tail -1 || fail 'exposure is above 1.5'

step 'reload says whether the configuration has changed'
quietly systemctl reload xdsproxy
until_ 'a word about the configuration' said configuration
is MainPID "$pid" || fail 'a reload started it anew'

step 'killed, it comes back'
kill -KILL "$pid"
until_ 'it comes back' is NRestarts 1
until_ ready ready

step 'original-dst, which asks netlink for addresses'
configured -e 's|^#upstream:.*|upstream: original-dst|'

step 'port 443, with the drop-in that the docs have'
mkdir -p /etc/systemd/system/xdsproxy.service.d
cat >/etc/systemd/system/xdsproxy.service.d/port.conf <<'UNIT'
[Service]
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
PrivateUsers=no
UNIT
systemctl daemon-reload
configured -e 's|^#upstream:.*|upstream: 127.0.0.1:18001|' -e 's|^listen:.*|listen: 127.0.0.1:443|'
rm -r /etc/systemd/system/xdsproxy.service.d
systemctl daemon-reload

step 'an upgrade: it is the new program that runs, with the changed configuration'
configured -e 's|^#upstream:.*|upstream: 127.0.0.1:18001|'
before=$(show MainPID)
install_ new
is ActiveState active || fail 'it does not run any more'
if is MainPID "$before"; then fail 'the old program runs on'; fi
until_ ready ready
cmp -s "/proc/$(show MainPID)/exe" /usr/bin/xdsproxy || fail 'it is not the new program'
grep -q '^upstream: 127.0.0.1:18001$' "$config" || fail 'the configuration was overwritten'

step 'removal: stopped and disabled, recordings stay'
pid=$(show MainPID)
remove
if [ -e "/proc/$pid" ]; then fail 'it still runs'; fi
[ ! -e /etc/systemd/system/multi-user.target.wants/xdsproxy.service ] || fail 'it is still enabled'
[ -n "$(find /var/lib/private/xdsproxy -name '*.xdsp')" ] || fail 'the removal took the recordings away'

[ -e "$config" ] || [ -e "$config.rpmsave" ] || fail 'the removal took the configuration away'

rm "$config.installed"
case $format in
deb)
	step 'purge: nothing stays'
	quietly apt-get purge -y xdsproxy
	;;
rpm)
	step 'what the docs say to remove by hand: nothing stays'
	rm -r /var/lib/xdsproxy /var/lib/private/xdsproxy /etc/xdsproxy
	;;
esac
left=$(find /usr /etc /var/lib /lib/systemd /run -name '*xdsproxy*' ! -path '/var/lib/dpkg/*' 2>/dev/null)
[ -z "$left" ] || fail "there is left: $left"
