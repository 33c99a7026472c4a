package main

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// config holds the effective value of every setting.
type config struct {
	file string
	// static are the clusters of the bootstrap that is known; no setting.
	static []string

	listen   []string
	upstream []string
	pair     pairConfig

	maxConnections countValue
	maxStreams     countValue
	keepalive      orOff

	dialTimeout durationValue
	drain       durationValue
	tapMemory   sizeValue

	queue       sizeValue
	sync        orOff
	maxSize     sizeValue
	maxAge      durationValue
	keep        countValue
	noRecord    boolValue
	noCheck     boolValue
	ring        sizeValue
	memoryPast  sizeValue
	keepSecrets boolValue

	viewer          viewerValue
	viewerRemote    boolValue
	viewerTokenFile string

	admin      adminValue
	adminPprof boolValue

	headless  boolValue
	theme     string
	ascii     boolValue
	noMouse   boolValue
	color     string
	logFormat string
	verbose   boolValue
	quiet     boolValue
}

const (
	groupForward = "Forwarding"
	groupLimits  = "Limits"
	groupRecord  = "Recording"
	groupMemory  = "Memory"
	groupViewer  = "Viewer"
	groupAdmin   = "Operations"
	groupOutput  = "Output"
	groupScreen  = "Screen"
	groupGlobal  = "Everywhere"
)

const (
	helpUpstream = "where the control plane listens; original-dst: where a client was going that iptables redirected here"
	helpListen   = "where clients connect; port 0 picks a free one"
)

// bind sets the defaults and returns the table, bound to c.
func (c *config) bind() []*setting {
	*c = config{
		listen:      []string{"127.0.0.1:18000"},
		dialTimeout: durationValue(5 * time.Second),
		drain:       durationValue(2 * time.Second),
		tapMemory:   256 << 20,
		keepalive:   orOff(30 * time.Second),
		queue:       64 << 20,
		sync:        orOff(200 * time.Millisecond),
		ring:        64 << 20,
		memoryPast:  engine.DefaultPast,
		theme:       "auto",
		viewer:      viewerOn,
		color:       "auto",
		logFormat:   "text",
	}
	table := []*setting{
		{
			name: "upstream", group: groupForward, run: true, value: newMany(&c.upstream, "ADDR", checkUpstream),
			help: helpUpstream + "; repeat it for several",
		},
		{
			name: "listen", group: groupForward, run: true, value: newMany(&c.listen, "ADDR", checkListen),
			help: helpListen + "; one for each --upstream, in the same order",
		},
		{
			name: "dial-timeout", group: groupForward, run: true, value: &c.dialTimeout,
			help: "how long an upstream may take to accept",
		},
		{
			name: "drain", group: groupForward, run: true, value: &c.drain,
			help: "how long messages on their way may take to finish when the proxy stops",
		},
		{
			name: "tap-memory", group: groupForward, run: true, value: &c.tapMemory,
			help: "memory for messages that are still arriving; beyond it, records (never traffic) are cut short",
		},
	}
	table = append(table, c.pair.bind()...)
	table = append(table, []*setting{
		{
			name: "max-connections", group: groupLimits, run: true, value: limitValue{&c.maxConnections, "0", "none"},
			help: "how many clients may be connected at once; others are reset at once",
		},
		{
			name: "max-streams", group: groupLimits, run: true, value: limitValue{&c.maxStreams, "0", "none"},
			help: "how many streams may be open for another client to be let in; those of clients that are in are never refused",
		},
		{
			name: "keepalive", group: groupLimits, run: true, value: &c.keepalive,
			help: "how long a peer may be silent before its system is asked whether it is still there (TCP keepalive); one that does not answer is given up after four times as long",
		},
		{
			name: "queue", group: groupRecord, run: true, value: &c.queue,
			help: "memory for entries on their way to disk; beyond it, records (never traffic) are dropped, and a gap says so",
		},
		{
			name: "sync", group: groupRecord, run: true, value: &c.sync,
			help: "how soon what was written is brought to the disk, to survive a crash of the machine; off for slow disks",
		},
		{
			name: "max-size", group: groupRecord, run: true, value: limitValue{&c.maxSize, "0B", "none"},
			help: "begin another segment of the recording at this size; each can be read alone, FILE is the newest",
		},
		{
			name: "max-age", group: groupRecord, run: true, value: limitValue{&c.maxAge, "0s", "none"},
			help: "begin another segment after this time",
		},
		{
			name: "keep", group: groupRecord, run: true, value: limitValue{&c.keep, "0", "all"},
			help: "how many segments to keep beside the newest; older ones are deleted",
		},
		{
			name: "no-record", group: groupRecord, run: true, value: &c.noRecord,
			help: "write no file; only what --ring has room for is kept, in memory, while the proxy runs",
		},
		{
			name: "ring", group: groupRecord, run: true, value: &c.ring,
			help: "memory for the recording with --no-record; the oldest entries go first",
		},
		{
			name: "no-check", group: groupRecord, run: true, value: &c.noCheck,
			help: "do not hold what passes against the rules",
		},
		{
			name: "memory-past", group: groupMemory, run: true, value: &c.memoryPast,
			help: "memory for what is over: streams that ended, clients that left, versions that were replaced; beyond it the least recent is forgotten, which is said, and rules that would need it are silent",
		},
		{
			name: "keep-secrets", group: groupRecord, run: true, value: &c.keepSecrets,
			help: "record private keys and credentials in the clear instead of masking them",
		},
		{
			name: "viewer", group: groupViewer, run: true, value: &c.viewer,
			help: "where others can watch; on: on a socket that only this user can open; host:port: there, too, with a token; off: nowhere",
		},
		{
			name: "viewer-allow-remote", group: groupViewer, run: true, value: &c.viewerRemote,
			help: "let --viewer listen where other machines can reach it, unencrypted",
		},
		{
			name: "admin", group: groupAdmin, run: true, value: &c.admin,
			help: "serve health, readiness and metrics over HTTP; :port is on this machine only; off: nowhere",
		},
		{
			name: "admin-pprof", group: groupAdmin, run: true, value: &c.adminPprof,
			help: "serve profiles of the program there, too; only on this machine",
		},
		{
			name: "headless", group: groupOutput, run: true, value: &c.headless,
			help: "print nothing on standard output, even on a terminal",
		},
		{
			name: "theme", group: groupScreen, run: true, value: choiceValue{&c.theme, tui.Themes()},
			help: "colours of the screen; auto: the terminal's own, as its background asks for",
		},
		{
			name: "ascii", group: groupScreen, run: true, value: &c.ascii,
			help: "draw lines and arrows on the screen with ASCII only",
		},
		{
			name: "no-mouse", group: groupScreen, run: true, value: &c.noMouse,
			help: "leave the mouse to the terminal",
		},
		{
			name: "color", group: groupGlobal, value: choiceValue{&c.color, []string{"auto", "always", "never"}},
			help: "colour the output; auto: on a terminal, and as NO_COLOR says",
		},
		{
			name: "config", group: groupGlobal, noFile: true, value: textValue{&c.file, "FILE"},
			help: "read settings from this file",
		},
		{
			name: "log-format", group: groupGlobal, value: choiceValue{&c.logFormat, []string{"text", "json"}},
			help: "form of the program's own log on standard error",
		},
		{
			name: "quiet", short: "q", group: groupGlobal, value: &c.quiet,
			help: "log errors only, and print no summaries",
		},
		{
			name: "viewer-token-file", group: groupGlobal, value: textValue{&c.viewerTokenFile, "FILE"},
			help: "the token of the viewer endpoint, of one's own or of that which is read, is in this file",
		},
		{
			name: "verbose", short: "v", group: groupGlobal, value: &c.verbose,
			help: "log details",
		},
	}...)
	for _, s := range table {
		s.origin = fromDefault
	}
	return table
}

func checkListen(s string) error {
	_, err := proxy.ParseAddr(s)
	return err
}

func checkUpstream(s string) error {
	if s == proxy.OriginalDst {
		return nil
	}
	return checkListen(s)
}
