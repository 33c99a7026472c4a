package recorder

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/filled"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

var update = flag.Bool("update", false, "write the golden recording of the version that is written now")

// goldens are the forms of the format by their files: the first one, and the one
// that has what clients say that they hold.
func goldens() map[string]bool {
	return map[string]bool{"version1.xdsp": false, "version1-held.xdsp": true}
}

// golden is a recording with every kind of entry and every field, with content
// that repeats within a block and across blocks, and with two epochs. Only the
// compressor could make its bytes differ from one day to the next.
func golden(t *testing.T, held bool) (file []byte, want []session.Entry) {
	t.Helper()
	m := new(memory)
	at := time.Unix(1.7e9, 0).UTC()
	f, err := blocks.New(m, &format.FileHeader{Created: at, Program: "xdsproxy golden", Masked: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	add := func(e session.Entry, labels ...string) {
		e.Seq, e.Time = session.Seq(len(want)+1), at.Add(time.Duration(len(want))*time.Second)
		if _, err := f.Measure(&e); err != nil {
			t.Fatal(err)
		}
		f.Add(&e, labels)
		if e.Message != nil {
			m := *e.Message
			m.Data = session.Chunks{m.Data.Bytes()}
			e.Message = &m
		}
		want = append(want, e)
	}
	commit := func() {
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	last := session.KindTime
	if held {
		last = session.KindHeld
	}
	for k := session.KindUnknown; k <= last; k++ {
		var e session.Entry
		filled.Value(t, reflect.ValueOf(&e).Elem(), new(int))
		e.Kind, e.Carried, e.Conn, e.Stream = k, false, 1, session.StreamID(k)
		if !held {
			e.Held = nil
		}
		add(e, "kind:"+k.String())
	}
	commit()
	r := resources(6)
	add(response(r[:4]), "type:CDS")
	add(response(session.Chunks{[]byte("\x0a\x012"), r[0], r[1], r[4], r[3]}), "type:CDS")
	commit()
	add(response(session.Chunks{[]byte("\x0a\x013"), r[0], r[1], r[4], r[3], r[0]}), "type:CDS")
	commit()
	f.Known.Full = true
	add(session.Entry{Kind: session.KindTime, Side: session.Proxy})
	commit()
	add(response(session.Chunks{r[5], r[0], r[5], r[0]}))
	commit()
	if err := f.Finish(session.Seq(len(want))); err != nil {
		t.Fatal(err)
	}
	return m.b, want
}

// A recording that was once written stays readable: golden files are added, and
// never changed.
func TestGolden(t *testing.T) {
	for name, held := range goldens() {
		t.Run(name, func(t *testing.T) { testGolden(t, filepath.Join("testdata", name), held) })
	}
}

func testGolden(t *testing.T, path string, held bool) {
	file, want := golden(t, held)
	if *update {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("%s is kept for ever: a new form of the format needs a file of its own", path)
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, file) {
		// Another compressor may choose other bytes for the same entries.
		t.Logf("what is written now differs from %s", path)
	}
	for name, b := range map[string][]byte{"kept": kept, "written now": file} {
		r := NewReader(bytes.NewReader(b))
		got, err := drain(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: not what was written:\n%s", name, d)
		}
		if f := r.Facts(); f.Version != 1 || !f.Complete || !f.Masked || f.Program != "xdsproxy golden" {
			t.Errorf("%s: %+v", name, f)
		}
		_ = r.Close()
	}
	if h := headersOf(t, kept); len(h) != 5 || h[1].Contents != 5 || h[2].Contents != 0 || h[3].Epoch != 1 || h[4].Epoch != 2 || h[4].Content != 0 {
		t.Errorf("headers %+v", h)
	}
}
