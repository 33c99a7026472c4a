package settings

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Values holds the effective value of every setting.
type Values struct {
	file string
	// Static are the clusters of the bootstrap that is known; no setting.
	Static []string

	listen   []string
	upstream []string
	pair     pairValues

	MaxConnections Count
	MaxStreams     Count
	Keepalive      OrOff

	DialTimeout Duration
	Drain       Duration
	TapMemory   Size

	Queue       Size
	Sync        OrOff
	MaxSize     Size
	MaxAge      Duration
	Keep        Count
	NoRecord    Bool
	NoCheck     Bool
	Ring        Size
	memoryPast  Size
	KeepSecrets Bool

	Viewer          viewerAddr
	ViewerRemote    Bool
	ViewerTokenFile string

	Admin      adminAddr
	AdminPprof Bool

	Headless  Bool
	Theme     string
	Ascii     Bool
	NoMouse   Bool
	Color     string
	LogFormat string
	Verbose   Bool
	Quiet     Bool
}

const (
	groupForward = "Forwarding"
	groupLimits  = "Limits"
	GroupRecord  = "Recording"
	groupMemory  = "Memory"
	groupViewer  = "Viewer"
	groupAdmin   = "Operations"
	GroupOutput  = "Output"
	GroupScreen  = "Screen"
	GroupGlobal  = "Everywhere"
)

const (
	helpUpstream = "where the control plane listens; original-dst: where a client was going that iptables redirected here"
	helpListen   = "where clients connect; port 0 picks a free one"
)

// bind sets the defaults and returns the table, bound to c.
func (c *Values) bind() []*Setting {
	*c = Values{
		listen:      []string{"127.0.0.1:18000"},
		DialTimeout: Duration(5 * time.Second),
		Drain:       Duration(2 * time.Second),
		TapMemory:   256 << 20,
		Keepalive:   OrOff(30 * time.Second),
		Queue:       64 << 20,
		Sync:        OrOff(200 * time.Millisecond),
		Ring:        64 << 20,
		memoryPast:  engine.DefaultPast,
		Theme:       "auto",
		Viewer:      ViewerOn,
		Color:       "auto",
		LogFormat:   "text",
	}
	table := []*Setting{
		{
			Name: "upstream", Group: groupForward, Run: true, Value: newMany(&c.upstream, "ADDR", checkUpstream),
			Help: helpUpstream + "; repeat it for several",
		},
		{
			Name: "listen", Group: groupForward, Run: true, Value: newMany(&c.listen, "ADDR", checkListen),
			Help: helpListen + "; one for each --upstream, in the same order",
		},
		{
			Name: "dial-timeout", Group: groupForward, Run: true, Value: &c.DialTimeout,
			Help: "how long an upstream may take to accept",
		},
		{
			Name: "drain", Group: groupForward, Run: true, Value: &c.Drain,
			Help: "how long messages on their way may take to finish when the proxy stops",
		},
		{
			Name: "tap-memory", Group: groupForward, Run: true, Value: &c.TapMemory,
			Help: "memory for messages that are still arriving; beyond it, records (never traffic) are cut short",
		},
	}
	table = append(table, c.pair.bind()...)
	table = append(table, []*Setting{
		{
			Name: "max-connections", Group: groupLimits, Run: true, Value: limit{&c.MaxConnections, "0", "none"},
			Help: "how many clients may be connected at once; others are reset at once",
		},
		{
			Name: "max-streams", Group: groupLimits, Run: true, Value: limit{&c.MaxStreams, "0", "none"},
			Help: "how many streams may be open for another client to be let in; those of clients that are in are never refused",
		},
		{
			Name: "keepalive", Group: groupLimits, Run: true, Value: &c.Keepalive,
			Help: "how long a peer may be silent before its system is asked whether it is still there (TCP keepalive); one that does not answer is given up after four times as long",
		},
		{
			Name: "queue", Group: GroupRecord, Run: true, Value: &c.Queue,
			Help: "memory for entries on their way to disk; beyond it, records (never traffic) are dropped, and a gap says so",
		},
		{
			Name: "sync", Group: GroupRecord, Run: true, Value: &c.Sync,
			Help: "how soon what was written is brought to the disk, to survive a crash of the machine; off for slow disks",
		},
		{
			Name: "max-size", Group: GroupRecord, Run: true, Value: limit{&c.MaxSize, "0B", "none"},
			Help: "begin another segment of the recording at this size; each can be read alone, FILE is the newest",
		},
		{
			Name: "max-age", Group: GroupRecord, Run: true, Value: limit{&c.MaxAge, "0s", "none"},
			Help: "begin another segment after this time",
		},
		{
			Name: "keep", Group: GroupRecord, Run: true, Value: limit{&c.Keep, "0", "all"},
			Help: "how many segments to keep beside the newest; older ones are deleted",
		},
		{
			Name: "no-record", Group: GroupRecord, Run: true, Value: &c.NoRecord,
			Help: "write no file; only what --ring has room for is kept, in memory, while the proxy runs",
		},
		{
			Name: "ring", Group: GroupRecord, Run: true, Value: &c.Ring,
			Help: "memory for the recording with --no-record; the oldest entries go first",
		},
		{
			Name: "no-check", Group: GroupRecord, Run: true, Value: &c.NoCheck,
			Help: "do not hold what passes against the rules",
		},
		{
			Name: "memory-past", Group: groupMemory, Run: true, Value: &c.memoryPast,
			Help: "memory for what is over: streams that ended, clients that left, versions that were replaced; beyond it the least recent is forgotten, which is said, and rules that would need it are silent",
		},
		{
			Name: "keep-secrets", Group: GroupRecord, Run: true, Value: &c.KeepSecrets,
			Help: "record private keys and credentials in the clear instead of masking them",
		},
		{
			Name: "viewer", Group: groupViewer, Run: true, Value: &c.Viewer,
			Help: "where others can watch; on: on a socket that only this user can open; host:port: there, too, with a token; off: nowhere",
		},
		{
			Name: "viewer-allow-remote", Group: groupViewer, Run: true, Value: &c.ViewerRemote,
			Help: "let --viewer listen where other machines can reach it, unencrypted",
		},
		{
			Name: "admin", Group: groupAdmin, Run: true, Value: &c.Admin,
			Help: "serve health, readiness and metrics over HTTP; :port is on this machine only; off: nowhere",
		},
		{
			Name: "admin-pprof", Group: groupAdmin, Run: true, Value: &c.AdminPprof,
			Help: "serve profiles of the program there, too; only on this machine",
		},
		{
			Name: "headless", Group: GroupOutput, Run: true, Value: &c.Headless,
			Help: "print nothing on standard output, even on a terminal",
		},
		{
			Name: "theme", Group: GroupScreen, Run: true, Value: Choice{&c.Theme, widget.Themes()},
			Help: "colours of the screen; auto: the terminal's own, as its background asks for",
		},
		{
			Name: "ascii", Group: GroupScreen, Run: true, Value: &c.Ascii,
			Help: "draw lines and arrows on the screen with ASCII only",
		},
		{
			Name: "no-mouse", Group: GroupScreen, Run: true, Value: &c.NoMouse,
			Help: "leave the mouse to the terminal",
		},
		{
			Name: "color", Group: GroupGlobal, Value: Choice{&c.Color, []string{"auto", "always", "never"}},
			Help: "colour the output; auto: on a terminal, and as NO_COLOR says",
		},
		{
			Name: "config", Group: GroupGlobal, noFile: true, Value: Text{&c.file, "FILE"},
			Help: "read settings from this file",
		},
		{
			Name: "log-format", Group: GroupGlobal, Value: Choice{&c.LogFormat, []string{"text", "json"}},
			Help: "form of the program's own log on standard error",
		},
		{
			Name: "quiet", Short: "q", Group: GroupGlobal, Value: &c.Quiet,
			Help: "log errors only, and print no summaries",
		},
		{
			Name: "viewer-token-file", Group: GroupGlobal, Value: Text{&c.ViewerTokenFile, "FILE"},
			Help: "the token of the viewer endpoint, of one's own or of that which is read, is in this file",
		},
		{
			Name: "verbose", Short: "v", Group: GroupGlobal, Value: &c.Verbose,
			Help: "log details",
		},
	}...)
	for _, s := range table {
		s.Origin = fromDefault
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
