#!/usr/bin/env bash
# Makes the pictures of the README from real frames: the program in tmux, its
# screen through aha to HTML, and that through chromium; and the page of a report.
set -euo pipefail
cd "$(dirname "$0")/../.."
for tool in tmux aha chromium; do
	command -v "$tool" >/dev/null || { echo "make.sh: $tool is not installed" >&2; exit 1; }
done
work=$(mktemp -d)
trap 'tmux -S "$work/tmux" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/xdsproxy" ./cmd/xdsproxy
mkdir "$work/home"
export XDG_STATE_HOME=$work/home XDG_CONFIG_HOME=$work/home XDG_RUNTIME_DIR=$work/home
(cd "$work" && ./xdsproxy --quiet demo --once -w demo.xdsp >/dev/null)

# picture NAME COLUMNSxROWS KEY…: what the screen shows after these keys.
picture() {
	local name=$1 columns=${2%x*} rows=${2#*x}
	shift 2
	tmux -S "$work/tmux" -f /dev/null new-session -d -s "$name" -x "$columns" -y "$rows" -c "$work" \
		"COLORTERM=truecolor TERM=xterm-256color exec ./xdsproxy open --theme dark demo.xdsp"
	sleep 2
	for key in "$@"; do
		case $key in
		type:*) tmux -S "$work/tmux" send-keys -t "$name" -l "${key#type:}" ;;
		*) tmux -S "$work/tmux" send-keys -t "$name" "$key" ;;
		esac
		sleep 0.3
	done
	sleep 1
	tmux -S "$work/tmux" capture-pane -t "$name" -e -p >"$work/$name.ansi"
	tmux -S "$work/tmux" kill-session -t "$name"
	aha --black --no-header <"$work/$name.ansi" |
		sed 's/color:\(black\|white\);background-color:\(black\|white\);/color:#101418;background-color:#d8dee9;/g' >"$work/$name.body"
	{
		echo '<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#101418;color:#d8dee9}'
		echo 'pre{margin:12px;font:14px/18px "DejaVu Sans Mono",monospace}</style><pre>'
		cat "$work/$name.body"
		echo '</pre>'
	} >"$work/$name.html"
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=2 \
		--window-size="$((columns * 843 / 100 + 26)),$((rows * 18 + 26))" \
		--screenshot="docs/pictures/$name.png" "file://$work/$name.html" >/dev/null 2>&1
	echo "docs/pictures/$name.png"
}

(cd "$work" && ./xdsproxy --quiet export demo.xdsp -w report.html)
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5 --window-size=1280,840 \
	--screenshot=docs/pictures/report.png "file://$work/report.html" >/dev/null 2>&1
echo docs/pictures/report.png

picture timeline 120x35 2 !
picture diff 100x20 2 ! d
