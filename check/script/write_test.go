package script

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func written1(t testing.TB, s *Script) (string, []string) {
	t.Helper()
	var out bytes.Buffer
	lost, err := Write(&out, s.Entries())
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), lost
}

// What was read from a script and written again is the same session, but for the
// names of contents. Nothing of it is lost.
func TestRoundTrip(t *testing.T) {
	for _, file := range fixtures(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			roundTrip(t, parseText(t, string(text)))
		})
	}
}

// What is written of the corners of the notation, word for word.
func TestWritten(t *testing.T) {
	files, err := filepath.Glob("testdata/*.xds")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		s, _ := openScript(t, file)
		text, _ := written1(t, s)
		fmt.Fprintf(&b, "%s\n%s\n", filepath.Base(file), text)
	}
	golden.Is(t, "testdata/written.txt", b.String())
}

func roundTrip(t *testing.T, first *Script) {
	t.Helper()
	text, lost := written1(t, first)
	if len(lost) > 0 {
		t.Errorf("lost: %q", lost)
	}
	second, err := Parse("written", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if d := cmp.Diff(comparable(first), comparable(second)); d != "" {
		t.Errorf("%s\n%s", d, text)
	}
	if a, b := found(first.Entries()), found(second.Entries()); a != b {
		t.Errorf("judged, it gives\n%s\nwritten and judged again\n%s", a, b)
	}
	again, _ := written1(t, second)
	if again != text {
		t.Errorf("written again it differs:\n%s", cmp.Diff(text, again))
	}
}

// found are the findings in a session, of all rules.
func found(entries iter.Seq[session.Entry]) string {
	rules, unknown := check.Select([]string{"all"}, nil)
	if unknown != "" {
		panic(unknown)
	}
	k := check.NewChecker(check.Options{Rules: rules})
	for e := range entries {
		k.Step(&e)
	}
	var b strings.Builder
	for _, f := range k.Findings() {
		fmt.Fprintln(&b, f.Rule.ID, f.Severity, f.Client, f.Type, f.Names, f.Seqs)
	}
	return b.String()
}

// plain is an entry without its bytes.
type plain struct {
	session.Entry
	After   time.Duration
	Size    int64
	Message decode.Message
	Load    decode.LoadStats
	Status  decode.ClientStatus
	Facts   []plainFacts
}

// plainFacts is what is in a payload, the content as the number of its first
// occurrence.
type plainFacts struct {
	inspect.Facts
	Content int
}

func comparable(s *Script) (out []plain) {
	methods := map[session.StreamID]xds.Method{}
	inspector := inspect.New(nil)
	seen := map[string]int{}
	grpc := map[session.StreamID]bool{}
	var first time.Time
	for e := range s.Entries() {
		if first.IsZero() {
			first = e.Time
		}
		p := plain{Entry: e, After: e.Time.Sub(first)}
		if e.Kind == session.KindOpen {
			methods[e.Stream] = xds.LookupMethod(e.Method)
		}
		if e.Message != nil {
			data := e.Message.Data.Bytes()
			m := methods[e.Stream]
			p.Message = decode.Peek(m, e.Side, "", data)
			switch m.Variant {
			case xds.VariantLRS:
				p.Load = decode.PeekLoadStats(e.Side, data)
			case xds.VariantCSDS:
				p.Status = decode.PeekClientStatus(data)
			}
			if n := p.Message.Node; n != nil && strings.HasPrefix(n.UserAgent, "gRPC") {
				grpc[e.Stream] = true
			}
			for i := range p.Message.Resources {
				r := &p.Message.Resources[i]
				f := plainFacts{Facts: *inspector.Inspect(r.TypeURL, r.Body, false)}
				f.Unknown, f.Invalid, f.Deprecated = f.Unknown[:min(1, len(f.Unknown))], f.Invalid[:min(1, len(f.Invalid))], f.Deprecated[:min(1, len(f.Deprecated))]
				if len(f.Invalid) > 0 {
					f.Invalid = []string{"something"}
				}
				if !grpc[e.Stream] { // then it does not matter
					f.GRPCProblems = nil
				}
				key := r.TypeURL + string(f.Hash[:])
				if seen[key] == 0 {
					seen[key] = len(seen) + 1
				}
				f.Content, f.Hash, r.Body = seen[key], [16]byte{}, nil
				p.Facts = append(p.Facts, f)
			}
			if e.Message.Size >= largeMessage {
				p.Size = e.Message.Size
			}
		}
		p.Entry.Message, p.Entry.Time = nil, time.Time{}
		out = append(out, p)
	}
	return out
}

// Of streams that have ended the latest are remembered, and no more.
func TestEndedStreams(t *testing.T) {
	w := &writer{out: bufio.NewWriter(io.Discard), streams: map[session.StreamID]*written{}}
	for id := range session.StreamID(maxEnded + 1) {
		w.streams[id] = &written{id: id}
		w.end(&session.Entry{Kind: session.KindTrailer, Stream: id})
		if _, first := w.streams[0]; first != (id < maxEnded) || len(w.streams) != min(int(id)+1, maxEnded) {
			t.Fatalf("%d are remembered of %d, the first: %v", len(w.streams), id+1, first)
		}
	}
}
