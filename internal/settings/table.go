package settings

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Values holds the effective value of every setting.
type Values struct {
	file string
	// Static are the clusters of the bootstrap that is known; no setting.
	Static []string
	// Types are message types beside the linked ones, once they are read; no
	// setting.
	Types            *descriptors.Types
	descriptors      []string
	protoPath        []string
	EmbedDescriptors Bool

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
	dumps       dumpValues
	archive     archiveValues
	held        heldValues
	files       fileValues
	memoryPast  Size
	KeepSecrets Bool

	Viewer          viewerAddr
	ViewerRemote    Bool
	ViewerTokenFile string

	Admin      LocalAddr
	AdminPprof Bool
	ServeCSDS  LocalAddr

	Headless Bool
	Theme    string
	Ascii    Bool
	NoMouse  Bool
	NoFold   Bool

	NoRemember Bool

	Color     string
	LogFormat string
	Verbose   Bool
	Quiet     Bool
}

const (
	groupForward = "Forwarding"
	groupLimits  = "Limits"
	GroupRecord  = "Recording"
	groupArchive = "Archive"
	groupDumps   = "Dumps"
	groupFiles   = "Files"
	groupHeld    = "What clients hold"
	groupMemory  = "Memory"
	GroupTypes   = "Types"
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
		Types:       descriptors.New(),
		listen:      []string{"127.0.0.1:18000"},
		DialTimeout: Duration(5 * time.Second),
		Drain:       Duration(2 * time.Second),
		TapMemory:   session.MostRead,
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
		row(groupForward, "upstream", newMany(&c.upstream, "ADDR", checkUpstream),
			helpUpstream+"; repeat it for several"),
		row(groupForward, "listen", newMany(&c.listen, "ADDR", checkListen),
			helpListen+"; one for each --upstream, in the same order"),
		row(groupForward, "dial-timeout", &c.DialTimeout,
			"how long an upstream may take to accept"),
		row(groupForward, "drain", &c.Drain,
			"how long messages on their way may take to finish when the proxy stops"),
		row(groupForward, "tap-memory", &c.TapMemory,
			"memory for messages that are still arriving; beyond it, records (never traffic) are cut short"),
	}
	table = append(table, c.pair.bind()...)
	table = append(table, []*Setting{
		row(groupLimits, "max-connections", limit{&c.MaxConnections, "0", "none"},
			"how many clients may be connected at once; others are reset at once"),
		row(groupLimits, "max-streams", limit{&c.MaxStreams, "0", "none"},
			"how many streams may be open for another client to be let in; those of clients that are in are never refused"),
		row(groupLimits, "keepalive", &c.Keepalive,
			"how long a peer may be silent before its system is asked whether it is still there (TCP keepalive); one that does not answer is given up after four times as long"),
		row(GroupRecord, "queue", &c.Queue,
			"memory for entries on their way to disk; beyond it, records (never traffic) are dropped, and a gap says so"),
		row(GroupRecord, "sync", &c.Sync,
			"how soon what was written is brought to the disk, to survive a crash of the machine; off for slow disks"),
		row(GroupRecord, "max-size", limit{segmentSize{&c.MaxSize}, "0B", "none"},
			"begin another segment of the recording at this size; each can be read alone, FILE is the newest"),
		row(GroupRecord, "max-age", limit{&c.MaxAge, "0s", "none"},
			"begin another segment after this time"),
		row(GroupRecord, "keep", limit{&c.Keep, "0", "all"},
			"how many segments to keep beside the newest; older ones are deleted"),
		row(GroupRecord, "no-record", &c.NoRecord,
			"write no file; only what --ring has room for is kept, in memory, while the proxy runs"),
		row(GroupRecord, "ring", &c.Ring,
			"memory for the recording with --no-record; the oldest entries go first"),
		row(GroupRecord, "no-check", &c.NoCheck,
			"do not hold what passes against the rules"),
	}...)
	table = append(table, c.archive.bind()...)
	table = append(table, c.dumps.bind()...)
	table = append(table, c.files.bind()...)
	table = append(table, c.held.bind()...)
	table = append(table, []*Setting{
		row(groupMemory, "memory-past", &c.memoryPast,
			"memory for what is over: streams that ended, clients that left, versions that were replaced; beyond it the least recent is forgotten, which is said, and rules that would need it are silent"),
		row(GroupTypes, "descriptors", newMany(&c.descriptors, "FILE", checkFile),
			"decode the message types in this file, too: a descriptor set, or a .proto file; repeat it for several"),
		row(GroupTypes, "proto-path", newMany(&c.protoPath, "DIR", checkFile),
			"where imports of .proto files are looked for first; then beside the file and above it; repeat it for several"),
		row(GroupTypes, "embed-descriptors", &c.EmbedDescriptors,
			"put the types of --descriptors into the recording, so that who gets it needs nothing"),
		row(GroupRecord, "keep-secrets", &c.KeepSecrets,
			"record private keys and credentials in the clear instead of masking them"),
		row(groupViewer, "viewer", &c.Viewer,
			"where others can watch; on: on a socket that only this user can open; host:port: there, too, with a token; off: nowhere"),
		row(groupViewer, "viewer-allow-remote", &c.ViewerRemote,
			"let --viewer and --serve-csds listen where other machines can reach them, unencrypted"),
		row(groupAdmin, "admin", &c.Admin,
			"serve health, readiness and metrics over HTTP; :port is on this machine only; off: nowhere"),
		row(groupAdmin, "admin-pprof", &c.AdminPprof,
			"serve profiles of the program there, too; only on this machine"),
		row(groupAdmin, "serve-csds", &c.ServeCSDS,
			"serve over gRPC, by client status discovery, where each client stands; :port is on this machine only, elsewhere it is as with --viewer; off: nowhere"),
		row(GroupOutput, "headless", &c.Headless,
			"print nothing on standard output, even on a terminal"),
		row(GroupScreen, "theme", Choice{&c.Theme, widget.Themes()},
			"colours of the screen; auto: the terminal's own, as its background asks for"),
		row(GroupScreen, "ascii", &c.Ascii,
			"draw lines and arrows on the screen with ASCII only"),
		row(GroupScreen, "no-mouse", &c.NoMouse,
			"leave the mouse to the terminal"),
		row(GroupScreen, "no-fold", &c.NoFold,
			"give entries that only repeat others a line of their own, on the screen and in watch"),
		row(GroupScreen, "no-remember", &c.NoRemember,
			"neither read nor keep what was chosen of columns, their widths and the order of lists"),
		row(GroupGlobal, "color", Choice{&c.Color, []string{"auto", "always", "never"}},
			"colour the output; auto: on a terminal, and as NO_COLOR says"),
		row(GroupGlobal, "config", Text{&c.file, "FILE"},
			"read settings from this file"),
		row(GroupGlobal, "log-format", Choice{&c.LogFormat, []string{"text", "json"}},
			"form of the program's own log on standard error"),
		row(GroupGlobal, "quiet", &c.Quiet,
			"log errors only, and print no summaries"),
		row(GroupGlobal, "viewer-token-file", Text{&c.ViewerTokenFile, "FILE"},
			"read the token of the viewer endpoint from this file: of the one that this command opens, or that it reads"),
		row(GroupGlobal, "verbose", &c.Verbose,
			"log details"),
	}...)
	findSetting(table, "config").noFile = true
	findSetting(table, "quiet").Short, findSetting(table, "verbose").Short = "q", "v"
	return table
}

// row is a setting that has its default. All but those of every command are of run.
func row(group, name string, value pflag.Value, help string) *Setting {
	return &Setting{Name: name, Group: group, Value: value, Help: help, Run: group != GroupGlobal, Origin: fromDefault}
}

func checkFile(s string) error {
	if s == "" {
		return errors.New("no name")
	}
	return nil
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
