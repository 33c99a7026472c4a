package settings

import (
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/trigger"
)

// dumpValues are the settings of dumps.
type dumpValues struct {
	on     []string
	dir    string
	before Duration
	every  Duration
	most   Size
	format string
}

const (
	dumpReport = "report"
	// leastDumps is room for a dump of one stream with a few messages, and for a
	// report of it.
	leastDumps = 64 << 10
)

func (v *dumpValues) bind() []*Setting {
	*v = dumpValues{before: Duration(5 * time.Minute), every: Duration(10 * time.Minute), most: 1 << 30, format: "recording"}
	checked := func(s string) error {
		_, err := trigger.Parse([]string{s})
		return err
	}
	return []*Setting{
		row(groupDumps, "dump-on", newMany(&v.on, "RULE|SEVERITY|FILTER", checked),
			"write the last minutes into a file of their own when a rule finds something, or a filter takes an entry; such as error,warning or nack-received; repeat it for several"),
		row(groupDumps, "dump-dir", Text{&v.dir, "DIR"},
			"where dumps go; else to dumps in the state directory"),
		row(groupDumps, "dump-before", &v.before,
			"how much of what was before is in a dump"),
		row(groupDumps, "dump-every", &v.every,
			"how long a cause (rule, client and type) that had a dump gets no other"),
		row(groupDumps, "dump-max-size", limit{&v.most, "0B", "none"},
			"what all dumps may have together, at least 64KiB; the oldest are deleted"),
		row(groupDumps, "dump-format", Choice{&v.format, []string{"recording", dumpReport}},
			"recording: as -w writes it; report: a zip with a report, as xdsproxy report writes it"),
	}
}

// Dumps is when and where the last minutes are written.
type Dumps struct {
	On            []trigger.Condition
	Dir           string // "" for that of the state directory
	Before, Every time.Duration
	Most          int64 // bytes; 0: any number
	Report        bool
}

// Dumps says what is to be dumped; nil: nothing.
func (ss *Settings) Dumps() (*Dumps, error) {
	v := &ss.dumps
	if len(v.on) == 0 {
		for _, s := range ss.Table {
			if s.Group == groupDumps && s.Origin == fromFlag {
				return nil, console.Misused("%s without --dump-on: what should be dumped?", s.said()).Hint("--dump-on error,warning")
			}
		}
		return nil, nil
	}
	if v.most > 0 && v.most < leastDumps {
		return nil, console.Misused("--dump-max-size %s has no room for a dump: at least 64KiB", &v.most).Hint("none: any number of dumps of any size")
	}
	conditions, err := trigger.Parse(v.on)
	if err != nil {
		return nil, console.Misused("--dump-on: %w", err)
	}
	for _, c := range conditions {
		if bool(ss.NoCheck) && c.Judges() {
			return nil, console.Misused("--dump-on %s with --no-check: no rule looks at what passes", c.Text).Hint("leave --no-check out")
		}
	}
	d := &Dumps{On: conditions, Dir: v.dir, Before: time.Duration(v.before), Every: time.Duration(v.every), Most: int64(v.most), Report: v.format == dumpReport}
	return d, nil
}
