package script

import (
	"bytes"
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// recordings are those of real clients and servers.
func recordings(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../testdata/sessions/*.xdsp")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no recordings in check/testdata/sessions")
	}
	return all
}

func entriesOf(t *testing.T, file string) iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		r, err := recorder.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for e, err := range r.Entries(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// meaning is what an entry says to those who judge.
type meaning struct {
	After   time.Duration
	Kind    session.Kind
	Side    session.Side
	Method  string
	Client  string
	Type    string
	What    []string
	Answers int // the message, by its number
	Added   []string
	Removed []string
	Message *decode.Message
	Status  *session.Status
	// Contents are the payloads, as numbers of their first occurrence.
	Contents []int
	Refs     [][]inspect.Ref
	Faults   [][5]bool
}

func meanings(entries iter.Seq[session.Entry]) (out []meaning) {
	tracker, inspector := check.NewTracker(nil), inspect.New(nil)
	seen := map[string]int{}
	number := map[session.Seq]int{}
	opened := map[session.StreamID]int{}
	streamed, grpc := map[session.ConnID]bool{}, map[session.StreamID]bool{}
	var first time.Time
	for e := range entries {
		c := tracker.Step(&e)
		switch e.Kind {
		case session.KindOpen, session.KindMessage, session.KindHalfClose, session.KindTrailer, session.KindCancel, session.KindGoAway, session.KindDisconnect:
		default:
			continue
		}
		if e.Stream != 0 {
			streamed[e.Conn] = true
		}
		if c.Message != nil && c.Message.Node != nil && strings.HasPrefix(c.Message.Node.UserAgent, "gRPC") {
			grpc[e.Stream] = true
		}
		if !streamed[e.Conn] {
			continue // nothing was said on it
		}
		// A poll is one line of a script: it begins when it asks.
		poll := c.Method.Variant == xds.VariantREST
		if poll && e.Kind == session.KindOpen {
			opened[e.Stream] = len(out)
		} else if first.IsZero() {
			first = e.Time
		}
		// So is a client status, which is asked for when it is given.
		if c.Method.Variant == xds.VariantCSDS && e.Side == session.Client && (e.Kind == session.KindMessage || e.Kind == session.KindHalfClose) {
			continue
		}
		m := meaning{
			After: e.Time.Sub(first), Kind: e.Kind, Side: e.Side, Method: c.Method.Path, Client: c.Client, Type: c.Type,
			Answers: number[c.Answers], Added: c.Added, Removed: c.Removed, Status: e.Status,
		}
		if i, ok := opened[e.Stream]; ok && e.Kind == session.KindMessage && e.Side == session.Client {
			out[i].After = m.After
		}
		number[e.Seq] = len(out) + 1
		if c.What != "" {
			m.What = append([]string{c.What}, c.Also...)
		}
		if c.Message != nil {
			copied := *c.Message
			copied.Resources = slices.Clone(copied.Resources)
			// The order of a map means nothing.
			slices.SortFunc(copied.InitialVersions, func(a, b decode.NameVersion) int { return strings.Compare(a.Name, b.Name) })
			for i := range copied.Resources {
				r := &copied.Resources[i]
				f := inspector.Inspect(r.TypeURL, r.Body, e.Message.Masked)
				key := r.TypeURL + string(f.Hash[:])
				if seen[key] == 0 {
					seen[key] = len(seen) + 1
				}
				m.Contents = append(m.Contents, seen[key])
				m.Faults = append(m.Faults, [5]bool{f.Undecodable != "", len(f.Unknown) > 0, len(f.Deprecated) > 0, len(f.Invalid) > 0, grpc[e.Stream] && len(f.GRPCProblems) > 0})
				refs := slices.DeleteFunc(f.Refs, func(r inspect.Ref) bool { return r.Use == inspect.UseService })
				m.Refs = append(m.Refs, refs)
				r.Body = nil
			}
			m.Message = &copied
		}
		out = append(out, m)
	}
	return out
}

// A recording that was written as a script means the same as before.
func TestRecordings(t *testing.T) {
	for _, file := range recordings(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var text bytes.Buffer
			lost, err := Write(&text, entriesOf(t, file))
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range lost {
				if !slices.ContainsFunc([]string{"addresses", "headers", "about the recording", "that they hold", "load reports", "node", "connection", "connections"}, func(w string) bool { return strings.Contains(l, w) }) {
					t.Errorf("lost: %s", l)
				}
			}
			s, err := Parse(file, text.Bytes())
			if err != nil {
				t.Fatalf("%v\n%s", err, text.Bytes())
			}
			want := meanings(entriesOf(t, file))
			if len(want) == 0 {
				t.Fatal("it means nothing")
			}
			if d := cmp.Diff(want, meanings(s.Entries())); d != "" {
				t.Errorf("%s", d)
			}
		})
	}
}
