#!/usr/bin/env bash
# debtree.sh DEB NEWER_DEB OCI_TAR: does the package work in a fresh tree of Debian
# that has neither Go nor anything of ours, and the image on a root that nobody
# can write? Needs root, debootstrap, curl, python3 and systemd-analyze. No systemd
# is booted here, as in a container: the unit is verified and rated, and its
# ExecStart run by hand as it says. booted.sh does the rest.
set -euo pipefail
deb=$(realpath "$1") newer=$(realpath "$2") oci=$(realpath "$3")
here=$(dirname "${BASH_SOURCE[0]}")

work=$(mktemp -d)
tree=$work/debian
proxy=
cleanup() {
	if [ -n "$proxy" ]; then
		kill -KILL "$proxy" 2>/dev/null || true
		wait "$proxy" 2>/dev/null || true
	fi
	for m in "$work/image/tmp" "$work/image" "$tree/proc"; do
		if mountpoint -q "$m"; then umount "$m" || return; fi # or rm would go into it
	done
	rm -rf "$work"
}
trap cleanup EXIT

step() { printf '  -- %s\n' "$*"; }
fail() {
	printf 'debtree: %s\n' "$*" >&2
	exit 1
}
in_tree() { LC_ALL=C.UTF-8 HOME=/root TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$tree" "$@"; }
# Nothing is fetched: without a network apt can have only what it is given.
offline() { unshare -n env LC_ALL=C.UTF-8 HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive chroot "$tree" "$@"; }

[ "$(id -u)" = 0 ] || fail 'it needs root, to change roots and to mount'
for tool in debootstrap curl python3 systemd-analyze; do
	command -v "$tool" >/dev/null || fail "there is no $tool here: apt-get install debootstrap curl python3 systemd"
done
base=$("$here/debian.sh")
cp -a "$base" "$tree"
mount -t proc proc "$tree/proc"
cp "$deb" "$tree/root/xdsproxy.deb"
cp "$newer" "$tree/root/newer.deb"
if in_tree sh -c 'command -v go'; then fail 'the tree has Go'; fi

step 'apt install ./xdsproxy.deb'
offline sh -c 'cd /root && apt-get install -y --no-install-recommends ./xdsproxy.deb' >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'apt install failed'; }
version=$(dpkg-deb -f "$deb" Version)
in_tree xdsproxy --version | grep -qF "xdsproxy v${version/\~/-} (commit " || fail "it says that it is $(in_tree xdsproxy --version)"
in_tree dpkg --verify xdsproxy

step 'xdsproxy demo --once, as a user'
in_tree setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp xdsproxy demo --once >"$work/demo.log" 2>&1 || { tail -5 "$work/demo.log"; fail 'the demo failed'; }
grep -q NACK "$work/demo.log" || fail 'the demo shows no NACK'

step 'man xdsproxy, and every other page'
for page in $(in_tree sh -c 'ls /usr/share/man/man?/xdsproxy*'); do
	name=$(basename "$page" .gz)
	in_tree man --warnings -P cat "${name##*.}" "${name%.*}" >"$work/page" 2>"$work/warnings" || fail "no page $name"
	[ -s "$work/page" ] || fail "page $name is empty"
	if grep -v 'can.t set the locale' "$work/warnings"; then fail "warnings of page $name"; fi
done

step 'completion by bash'
in_tree bash -c '
	. /usr/share/bash-completion/bash_completion
	_completion_loader xdsproxy
	COMP_WORDS=(xdsproxy ver) COMP_CWORD=1 COMP_LINE="xdsproxy ver" COMP_POINT=12 COMP_TYPE=9
	$(complete -p xdsproxy | sed "s/.*-F \([^ ]*\).*/\1/")
	printf "%s\n" "${COMPREPLY[@]}"' 2>/dev/null | grep -q '^version' || fail 'bash does not complete ver'

step 'the unit: verified, and its exposure'
mkdir -p "$work/unit"
sed "s|^ExecStart=/usr|ExecStart=$tree/usr|" "$tree/lib/systemd/system/xdsproxy.service" >"$work/unit/xdsproxy.service"
systemd-analyze verify --man=no "$work/unit/xdsproxy.service" 2>"$work/verify" || { cat "$work/verify"; fail 'systemd-analyze verify'; }
if grep xdsproxy.service "$work/verify"; then fail 'systemd-analyze verify has something to say'; fi
systemd-analyze security --offline=true --threshold=15 "$work/unit/xdsproxy.service" | tail -1 || fail 'exposure is above 1.5'

unit=$tree/lib/systemd/system/xdsproxy.service
start() {
	# As the unit says, but for namespaces and filters, which only systemd makes.
	local command environment
	command=$(sed -n 's/^ExecStart=//p' "$unit")
	environment=$(sed -n 's/^Environment=//p' "$unit")
	install -d -m 700 -o 65534 -g 65534 "$tree/var/lib/xdsproxy" "$tree/run/xdsproxy"
	# shellcheck disable=SC2086 # both are lists of words
	(umask 077 && exec env -i PATH=/usr/sbin:/usr/bin $environment chroot "$tree" setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all $command) >"$work/service.log" 2>&1 &
	proxy=$!
}
step 'a start as installed: the configuration has no control plane, so it ends with 2'
start
code=0
wait "$proxy" || code=$?
proxy=
[ "$code" = 2 ] || { cat "$work/service.log"; fail "it ended with $code"; }
step 'a start with one, until it is ready, and its end'
sed -i -e 's|^#upstream:.*|upstream: 127.0.0.1:9|' -e 's|^listen:.*|listen: 127.0.0.1:0|' -e 's|^admin:.*|admin: unix:/run/xdsproxy/admin.sock|' "$tree/etc/xdsproxy/config.yaml"
start
for _ in $(seq 100); do
	if ready=$(curl -s --unix-socket "$tree/run/xdsproxy/admin.sock" http://localhost/readyz) && [ -n "$ready" ]; then break; fi
	kill -0 "$proxy" 2>/dev/null || { cat "$work/service.log"; fail 'it ended'; }
	sleep 0.2
done
curl -sf --unix-socket "$tree/run/xdsproxy/admin.sock" http://localhost/readyz >/dev/null || { cat "$work/service.log"; fail "not ready: $ready"; }
kill -TERM "$proxy"
code=0
wait "$proxy" || code=$?
proxy=
[ "$code" = 0 ] || { cat "$work/service.log"; fail "SIGTERM: it ended with $code"; }
recording=$(cd "$tree" && find var/lib/xdsproxy -name '*.xdsp' | head -1)
[ -n "$recording" ] || fail 'no recording below /var/lib/xdsproxy'
in_tree xdsproxy info "/$recording" >/dev/null

step 'an upgrade, whose configuration file differs: the changed one stays'
dpkg-deb -R "$newer" "$work/newer"
printf '\n# New in this version.\n' >>"$work/newer/etc/xdsproxy/config.yaml"
sed -i 's| etc/xdsproxy/config.yaml||' "$work/newer/DEBIAN/md5sums"
dpkg-deb -Znone -b --root-owner-group "$work/newer" "$tree/root/newer.deb" >/dev/null
offline sh -c 'cd /root && apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold ./newer.deb' >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'the upgrade failed'; }
in_tree xdsproxy --version | grep -qF "v$(dpkg-deb -f "$newer" Version)" || fail 'it is not the newer one'
grep -q '^upstream: 127.0.0.1:9$' "$tree/etc/xdsproxy/config.yaml" || fail 'the configuration was overwritten'
[ -e "$tree/etc/xdsproxy/config.yaml.dpkg-dist" ] || fail 'the new configuration is not beside it'
[ -e "$tree/$recording" ] || fail 'the upgrade took the recording away'

step 'removal: configuration and recordings stay'
offline apt-get remove -y xdsproxy >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'the removal failed'; }
if [ -e "$tree/usr/bin/xdsproxy" ] || [ -e "$unit" ]; then fail 'the removal left something'; fi
[ -e "$tree/$recording" ] || fail 'the removal took the recording away'
[ -e "$tree/etc/xdsproxy/config.yaml" ] || fail 'the removal took the configuration away'

step 'purge: nothing stays'
offline apt-get purge -y xdsproxy >"$work/apt.log" 2>&1 || { cat "$work/apt.log"; fail 'the purge failed'; }
left=$(find "$tree" -path "$tree/proc" -prune -o -name '*xdsproxy*' ! -path "$tree/root/*" ! -path "$tree/tmp/*" ! -path "$tree/var/cache/man/*" ! -name 'xdsproxy.list' -print)
[ -z "$left" ] || fail "the purge left $left"

step 'the image: its files, by its user, on a root that nobody can write'
python3 - "$oci" "$work/image" <<'PY'
import hashlib, io, json, os, platform, sys, tarfile
oci, to = sys.argv[1:]
t = tarfile.open(oci)
def blob(d):
    b = t.extractfile("blobs/" + d["digest"].replace(":", "/")).read()
    assert "sha256:" + hashlib.sha256(b).hexdigest() == d["digest"] and len(b) == d["size"], d
    return b
index = json.loads(blob(json.load(t.extractfile("index.json"))["manifests"][0]))
arch = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
image = [m for m in index["manifests"] if m["platform"] == {"architecture": arch, "os": "linux"}][0]
manifest = json.loads(blob(image))
config = json.loads(blob(manifest["config"]))
assert config["config"]["User"] == "65532:65532" and config["config"]["Entrypoint"] == ["/usr/bin/xdsproxy"], config
assert len(config["rootfs"]["diff_ids"]) == len(manifest["layers"]) == len(config["history"])
for l in manifest["layers"]:
    tarfile.open(fileobj=io.BytesIO(blob(l))).extractall(to)
os.chmod(to, 0o755)
open(to + ".env", "w").write("\n".join(config["config"]["Env"]))
print("     platforms:", *(m["platform"]["os"] + "/" + m["platform"]["architecture"] for m in index["manifests"]))
PY
mount --bind "$work/image" "$work/image"
mount -o remount,bind,ro "$work/image"
mapfile -t environment <"$work/image.env"
in_image() { env -i "${environment[@]}" "$(command -v chroot)" --userspec=65532:65532 "$work/image" /usr/bin/xdsproxy "$@"; }
in_image --version >/dev/null
if (cd "$work/image" && touch tmp/x 2>/dev/null); then fail 'the root can be written'; fi
(exec env -i "${environment[@]}" "$(command -v chroot)" --userspec=65532:65532 "$work/image" /usr/bin/xdsproxy \
	run --headless --no-record --viewer off --upstream 127.0.0.1:9 --listen 127.0.0.1:0) >"$work/image.log" 2>&1 &
proxy=$!
for _ in $(seq 100); do
	if grep -q '^listening on' "$work/image.log"; then break; fi
	kill -0 "$proxy" 2>/dev/null || { cat "$work/image.log"; fail 'the image ended'; }
	sleep 0.2
done
kill -TERM "$proxy"
code=0
wait "$proxy" || code=$?
proxy=
[ "$code" = 0 ] || { cat "$work/image.log"; fail "the image: SIGTERM: it ended with $code"; }
sed 's/^/     /' "$work/image.log" | head -3
mount -t tmpfs -o mode=1777,size=64m tmpfs "$work/image/tmp"
in_image demo --once -w /tmp/demo.xdsp >"$work/demo.log" 2>&1 || { tail -5 "$work/demo.log"; fail 'the demo of the image failed'; }
echo '  all of it works'
