package push

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

func at(ms int) time.Time {
	return time.Date(2026, 11, 23, 14, 15, 10, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

// hostile is a name that a terminal must not see as it is.
const hostile = "web\x1b[2J\xff\n"

// clean is a push of which nothing is to be said, full one with all that there is.
func clean() pushes.Push {
	return pushes.Push{
		Head: pushes.Head{
			N: 1, Server: "192.0.2.1:15010", Version: "1", Start: true, First: 5, Last: 5, Begun: at(0), Sent: at(0), FirstACK: at(2), LastACK: at(2),
			Types: []string{"CDS"}, Responses: 1, Bytes: 135, Clients: 1, Accepted: 1, Idle: 1, IdleBytes: 135,
		},
		Each: []pushes.Type{{
			Type: "CDS", Version: "1", Clients: 1, Responses: 1, Bytes: 135, Resources: 1, Again: 1, AgainSize: 120,
			Sent: at(0), SentLast: at(0), Accepted: at(2), AcceptedLast: at(2), SentSeq: 5, AcceptedSeq: 6,
		}},
		Members: []pushes.Client{{Client: "gw-0", State: pushes.Accepts, Order: []string{"CDS"}, Sent: at(0), Done: at(2)}},
	}
}

func full() pushes.Push {
	p := pushes.Push{
		Head: pushes.Head{
			N: 412, Server: "192.0.2.1:15010", Version: "2026-11-22T09:12:56Z/18", First: 40, Last: 900,
			Begun: at(5000), Sent: at(5350), FirstACK: at(5003), LastACK: at(8100),
			Types: []string{"CDS", "EDS", "LDS", "RDS", "SDS"}, Responses: 820, Bytes: 5 << 20, Idle: 12, IdleBytes: 1 << 20,
			Clients: 200, Accepted: 193, Rejected: 1, Pending: 3, Left: 1, Unclear: 2, Unsent: 1,
			Added: 2, Changed: 1, Removed: 1, Renamed: 1, Swaps: 1, Gap: 4680 * time.Millisecond, Unsure: true,
		},
		Each: []pushes.Type{
			{Type: "CDS", Clients: 200, Responses: 200, Bytes: 1 << 20, Resources: 4000, Again: 3800, AgainSize: 1000 << 10, Sent: at(5000), SentLast: at(5100), Accepted: at(5007), AcceptedLast: at(5200), SentSeq: 40, AcceptedSeq: 49},
			{Type: "EDS", Clients: 200, Responses: 200, Bytes: 1 << 20, Resources: 200, Sent: at(5003), SentLast: at(5100), Accepted: at(5005), AcceptedLast: at(8100), SentSeq: 41, AcceptedSeq: 47},
			{Type: "LDS", Clients: 3, Responses: 3, Bytes: 900, Resources: 3, Sent: at(5009), SentLast: at(5010), SentSeq: 44},
		},
		Changes: []pushes.Change{
			{Type: "CDS", Name: "outbound|8080||a.default.svc.cluster.local", How: pushes.Added, Contents: 1, Clients: 200, Seq: 40},
			{Type: "CDS", Name: hostile, How: pushes.Added, Contents: 2, Clients: 3, Seq: 40},
			{Type: "CDS", Name: "outbound|8080||b.default.svc.cluster.local", How: pushes.Removed, Clients: 200, Seq: 40},
			{Type: "CDS", Name: "new", How: pushes.Renamed, From: "old", Contents: 1, Clients: 200, Seq: 40},
			{Type: "RDS", Name: "http", How: pushes.Changed, Contents: 1, Clients: 200, Seq: 44},
		},
		Members: []pushes.Client{
			{Client: "gw-0", State: pushes.Rejects, Sent: at(5000), Done: at(5030), Types: []pushes.Part{
				{Type: "LDS", State: pushes.Rejects, Responses: 1, Changed: 1, Seq: 44, Sent: at(5009), Answer: 48, Answered: at(5030), Nacks: 1, Reason: "duplicate address\x1b[31m"},
			}},
			{Client: "gw-1", State: pushes.Pends, Sent: at(5000), Types: []pushes.Part{{Type: "CDS", State: pushes.Pends, Responses: 1, Seq: 41, Sent: at(5001)}}},
			{Client: hostile, State: pushes.Pends, Sent: at(5000), Types: []pushes.Part{{Type: "CDS", State: pushes.Pends, Responses: 1, Seq: 42, Sent: at(5001)}}},
			{Client: "gw-3", State: pushes.Pends, Sent: at(5000), Types: []pushes.Part{{Type: "CDS", State: pushes.Pends, Responses: 1, Seq: 43, Sent: at(5001)}}},
			{Client: "gw-4", State: pushes.Gone, Sent: at(5000), Types: []pushes.Part{{Type: "EDS", State: pushes.Gone, Responses: 1, Seq: 45, Sent: at(5001)}}},
			{Client: "gw-5", State: pushes.Unclear, Sent: at(5000), Types: []pushes.Part{{Type: "EDS", State: pushes.Unclear, Responses: 1, Seq: 46, Sent: at(5001)}}},
			{Client: "gw-6", State: pushes.Accepts, Order: []string{"EDS", "CDS"}, Sent: at(5000), Done: at(5200), Types: []pushes.Part{{Type: "CDS", State: pushes.Accepts, Responses: 2, Seq: 60, Sent: at(5001), Answer: 62, Answered: at(5200), Nacks: 1, Reason: "no such filter"}}},
		},
		Unsents: []pushes.Unsent{{Client: "gw-9", Type: "EDS", Name: "a", Owes: true}},
		Missing: []pushes.Gap{
			{Client: "gw-2", Type: "CDS", Name: "outbound|8080||b.default.svc.cluster.local", How: pushes.Cut, ByType: "RDS", By: "http", Instead: "outbound|8080||a.default.svc.cluster.local", Least: 4650 * time.Millisecond, Most: 4680 * time.Millisecond, From: 40, Until: 44, At: at(5000), Unsure: true},
			{Client: "gw-2", Type: "EDS", Name: "new", How: pushes.Early, ByType: "CDS", By: "new", Most: 3 * time.Millisecond, From: 40, Until: 41, At: at(5000)},
			{Client: "gw-7", Type: "CDS", Name: "lost", How: pushes.Cut, ByType: "RDS", By: "http", Most: 9 * time.Second, Open: true, From: 40, At: at(5000)},
		},
		Moves: []pushes.Swap{
			{Type: "CDS", Name: "outbound|8080||b.default.svc.cluster.local", Instead: []string{"outbound|8080||a.default.svc.cluster.local"}, Via: []string{"RDS http"}, Clients: 200, Gapless: 199, Margin: -4650 * time.Millisecond},
		},
		MoreClients: 1, MoreChanges: 7, MoreGaps: 4,
	}
	return p
}

// What people read of a push, on a screen and in a pipe.
func TestTexts(t *testing.T) {
	var b strings.Builder
	small, large := clean(), full()
	heads := []pushes.Head{small.Head, large.Head}
	for _, columns := range []int{80, 120, 0} {
		fmt.Fprintf(&b, "-- list in %d columns\n%s", columns, Table(heads, render.Style{}, columns))
	}
	for _, p := range []*pushes.Push{&small, &large} {
		fmt.Fprintf(&b, "-- push %d in 80 columns\n%s", p.N, Text(p, render.Style{}, 80, Form{Most: 2, Columns: 30}))
	}
	fmt.Fprintf(&b, "-- push %d in a pipe\n%s", large.N, Text(&large, render.Style{}, 0, Form{}))
	golden.Is(t, "testdata/texts.txt", b.String())
}

// No line is wider than the screen, and nothing of a peer gets to the terminal as
// it came.
func TestFits(t *testing.T) {
	small, large := clean(), full()
	for _, columns := range []int{40, 60, 80, 100, 120, 200} {
		text := Table([]pushes.Head{small.Head, large.Head}, render.Style{}, columns)
		for _, p := range []*pushes.Push{&small, &large} {
			text += Text(p, render.Style{}, columns, Form{Columns: 20})
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); render.Width(line) > columns || render.Safe(line) != line {
				t.Errorf("in %d columns: %q", columns, line)
			}
		}
	}
}

// Every member of the machine-readable form is what the push has, and of one that
// has everything none is left out.
func TestObject(t *testing.T) {
	p := full()
	p.Burst, p.Start, p.Open = true, true, 1
	p.Changes[0].Version, p.Each[0].Version = "1", "1"
	p.Members[0].Order = []string{"LDS"}
	text, err := render.JSONLine(NewObject(&p))
	if err != nil {
		t.Fatal(err)
	}
	var o Object
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeOf(o).NumField() {
		if f := reflect.TypeOf(o).Field(i); reflect.ValueOf(o).Field(i).IsZero() {
			t.Errorf("%s is empty", f.Name)
		}
	}
	if o.FirstACKMS != 3 || o.LastACKMS != 3100 || o.GapMS != 4680 || o.Missing[0].LeastMS != 4650 || o.Members[0].DoneMS != 30 || o.Moves[0].MarginMS != -4650 {
		t.Errorf("times are %v %v %v %v %v %v", o.FirstACKMS, o.LastACKMS, o.GapMS, o.Missing[0].LeastMS, o.Members[0].DoneMS, o.Moves[0].MarginMS)
	}
	l := NewList([]pushes.Head{p.Head}, 3)
	if l.Forgotten != 3 || len(l.Pushes) != 1 || l.Pushes[0].N != 412 || l.Pushes[0].Members != nil {
		t.Errorf("the list is %+v", l)
	}
	if text, err := render.JSONLine(NewList(nil, 0)); err != nil || !strings.Contains(string(text), `"pushes":[]`) {
		t.Errorf("no pushes are %s, %v", text, err)
	}
}

// That no change is known says that there was none only where all was seen.
func TestChangesThatAreNotKnown(t *testing.T) {
	p := clean()
	p.Unsure = true
	if r := NewRow(&p.Head); r.Changed != (Word{Muted, "unknown"}) {
		t.Errorf("the line says %+v", r.Changed)
	}
	for _, s := range Detail(&p, Form{}) {
		if s.Label == "changed" && s.Text != "unknown" {
			t.Errorf("it says %+v", s)
		}
	}
	p.Added = 1
	if r := NewRow(&p.Head); r.Changed != (Word{Plain, "+1"}) {
		t.Errorf("of one that is known the line says %+v", r.Changed)
	}
}

// The sign is that of the worst.
func TestWorst(t *testing.T) {
	for _, c := range []struct {
		h    pushes.Head
		want Look
		sign string
	}{
		{pushes.Head{Clients: 2, Accepted: 2}, Good, " "},
		{pushes.Head{Clients: 2, Pending: 1}, Accent, " "},
		{pushes.Head{Clients: 2, Left: 1}, Muted, " "},
		{pushes.Head{Clients: 2, Pending: 1, Unsent: 1}, Warned, "~"},
		{pushes.Head{Clients: 2, Open: 1}, Warned, "~"},
		{pushes.Head{Clients: 2, Pending: 1, Gap: 1, Rejected: 1}, Bad, "!"},
	} {
		if r := NewRow(&c.h); r.Sign.Look != c.want || r.Sign.Text != c.sign {
			t.Errorf("%+v has the sign %+v", c.h, r.Sign)
		}
	}
}
