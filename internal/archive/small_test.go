package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// What an intent has to say, and what its name may be.
func TestIntents(t *testing.T) {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	i := newIntent(&Options{URL: "s3://b/", Cluster: "c", Name: "p"}, now)
	if i.Archive != "s3://b/" || i.Cluster != "c" || i.Proxy != "p" || !strings.HasPrefix(i.Recording, "20260203T040506Z-") || len(i.Recording) != 29 || strings.ToLower(i.Recording[17:]) != i.Recording[17:] {
		t.Errorf("%+v", i)
	}
	for name, want := range map[string]bool{
		"aZ09-bcd": true, "1234567": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "with.dot": false, "under_score": false,
		"12345678/": false, "1234567`": false, "1234567{": false, "1234567@": false, "1234567[": false, "1234567:": false, "": false,
	} {
		if plainName(name) != want {
			t.Errorf("%q can be a name: %v", name, !want)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "s.xdsp")
	if err := i.write(path, true); err != nil {
		t.Fatal(err)
	}
	if err := i.write(path, true); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is overwritten: %v", err)
	}
	i.Began = now
	if err := i.write(path, false); err != nil {
		t.Fatal(err)
	}
	if got, err := readIntent(path + intentExt); err != nil || !reflect.DeepEqual(got, i) {
		t.Errorf("%+v became %+v, %v", i, got, err)
	}
	if err := i.write(filepath.Join(dir, "no", "s.xdsp"), false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in no directory: %v", err)
	}
	if _, err := readIntent(dir); !errors.Is(err, errIntent) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := readIntent(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v", err)
	}
	for text, want := range map[string]bool{
		`{"archive":"a","cluster":"c","proxy":"p","recording":"12345678"}`: true,
		`{"cluster":"c","proxy":"p","recording":"12345678"}`:               false,
		`{"archive":"a","proxy":"p","recording":"12345678"}`:               false,
		`{"archive":"a","cluster":"c","recording":"12345678"}`:             false,
		`{"archive":"a","cluster":"c","proxy":"p","recording":"1234567"}`:  false,
		`{`: false,
	} {
		if _, err := parseIntent([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Those of a directory: ours, those of other archives, and what is none.
	other := i
	other.Archive = "s3://other/"
	if err := other.write(filepath.Join(dir, "other.xdsp"), true); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad.xdsp"+intentExt)
	if err := os.WriteFile(bad, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	found, wrong, more, err := intents(dir, i.Archive)
	if err != nil || more || !reflect.DeepEqual(found, map[string]intent{path: i}) || !reflect.DeepEqual(wrong, []string{bad}) {
		t.Errorf("%v, %q, %v, %v", found, wrong, more, err)
	}
	if _, _, _, err := intents(filepath.Join(dir, "none"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
}

// Where a segment goes, and what is noted beside it.
func TestKeysAndMetadata(t *testing.T) {
	a := &Archive{o: Options{Prefix: "x/"}}
	r := &recording{intent: intent{Cluster: "a b", Proxy: ".p", Recording: "rec"}}
	began, first, last := time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC), time.Date(2026, 1, 2, 1, 0, 0, 5, time.UTC), time.Date(2026, 1, 3, 0, 0, 0, 0, time.FixedZone("", 3600))
	f := &recorder.File{Began: began, First: 7, Facts: recorder.Facts{LastSeq: 9, First: first, Last: last, Entries: 3, Messages: 2, Program: " xdsproxy\x1b é1 ", Complete: true, Masked: true}}
	if got := a.key(r, f); got != "x/cluster=a%20b/date=2026-01-02/proxy=%2Ep/rec.000001.xdsp" {
		t.Error(got)
	}
	empty := &recorder.File{Began: began, Number: 12}
	if got := a.key(r, empty); got != "x/cluster=a%20b/date=2026-01-01/proxy=%2Ep/rec.000012.xdsp" {
		t.Error(got)
	}
	want := map[string]string{
		"schema": "xdsproxy/v1", "recording": "rec", "segment": "1", "began": "2026-01-01T23:00:00Z", "first-seq": "7", "last-seq": "9",
		"first-time": "2026-01-02T01:00:00.000000005Z", "last-time": "2026-01-02T23:00:00Z", "entries": "3", "messages": "2",
		"program": "xdsproxy? ?1", "complete": "true", "sha256": "sum", "masked": "true",
	}
	if got := a.metadata(r, f, "sum"); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nnot %q", got, want)
	}
	f.Facts.Damaged, f.Facts.Complete, f.Facts.Masked = true, false, false
	want["damaged"], want["complete"], want["masked"] = "true", "false", "false"
	if got := a.metadata(r, f, "sum"); !reflect.DeepEqual(got, want) {
		t.Errorf("%q\nnot %q", got, want)
	}
	for in, want := range map[string]string{" a ": "a", "\x1f~\x7f": "?~?", strings.Repeat("x", 201): strings.Repeat("x", 200)} {
		if got := ascii(in); got != want {
			t.Errorf("%q is %q", in, got)
		}
	}
}

// short is a file that ends before its size.
type short struct{ *strings.Reader }

// A sum is of as many bytes as are asked for, or there is none.
func TestSumOf(t *testing.T) {
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	text := short{strings.NewReader("abcd")}
	for size, want := range map[int64]string{3: abc, 0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} {
		if got, err := sumOf(context.Background(), text, size); got != want || err != nil {
			t.Errorf("%d bytes: %s, %v", size, got, err)
		}
	}
	if got, err := sumOf(context.Background(), text, 5); got != "" || !errors.Is(err, io.EOF) {
		t.Errorf("more than there is: %s, %v", got, err)
	}
	long := short{strings.NewReader(strings.Repeat("x", 300<<10))}
	whole, err := sumOf(context.Background(), long, 300<<10)
	less, err2 := sumOf(context.Background(), long, 300<<10-1)
	if len(whole) != 64 || whole == less || err != nil || err2 != nil {
		t.Errorf("%s, %s, %v, %v", whole, less, err, err2)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	if _, err := sumOf(stopped, text, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// What waits for its upload stays, the newest first, as far as there is room.
func TestSpareHasRoom(t *testing.T) {
	old := []recorder.Old{{Path: "1", Number: 1, Size: 10}, {Path: "2", Number: 2, Size: 10}, {Path: "3", Number: 3, Size: 10}}
	for _, c := range []struct {
		hold int64
		done map[string]state
		busy string
		want []uint64
	}{
		{30, nil, "", []uint64{3, 2, 1}},
		{29, nil, "", []uint64{3, 2}},
		{20, nil, "", []uint64{3, 2}},
		{9, nil, "", nil},
		{0, nil, "1", []uint64{1}},
		{20, map[string]state{"3": uploaded}, "", []uint64{2, 1}},
		{10, map[string]state{"3": empty, "2": uploaded}, "", []uint64{1}},
		{10, map[string]state{"1": dropped}, "", []uint64{3}},
	} {
		a := &Archive{o: Options{Hold: c.hold}, current: &recording{pieces: make(map[string]*piece)}, told: make(map[string]bool), wake: make(chan struct{}, 1)}
		for _, o := range old {
			p := a.current.piece(o.Path, o.Size)
			p.state = c.done[o.Path]
			if o.Path == c.busy {
				a.busy = p
			}
		}
		if got := a.Spare(old); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("room for %d, %v, %q is being uploaded: %v stay, not %v", c.hold, c.done, c.busy, got, c.want)
		}
		for _, o := range old {
			stays := false
			for _, n := range c.want {
				stays = stays || n == o.Number
			}
			was := c.done[o.Path]
			if p := a.current.piece(o.Path, o.Size); (p.state == dropped) != (!stays && was != uploaded && was != empty) {
				t.Errorf("room for %d: %s has state %v", c.hold, o.Path, p.state)
			}
		}
	}
}

// The oldest piece comes first, unless it failed more often; what this process records before
// what earlier ones left.
func TestNext(t *testing.T) {
	pieces := func(of string, tries int) *recording {
		r := &recording{pieces: map[string]*piece{}}
		for i := range 20 {
			r.piece(fmt.Sprintf("%s%02d", of, i), 1).tries = tries
		}
		return r
	}
	a := &Archive{current: pieces("now", 1), earlier: []*recording{pieces("before", 1), pieces("long before", 1)}}
	is := func(want string) {
		t.Helper()
		of, p := a.next()
		if p == nil || p.path != want || of == nil || of.pieces[want] != p || a.busy != p {
			t.Fatalf("next is %+v, not %s", p, want)
		}
	}
	for range 10 { // whatever the order of the map
		is("now00")
	}
	a.current.pieces["now00"].tries = 2
	is("now01")
	a.earlier[1].pieces["long before07"].tries = 0
	is("long before07")
	a.earlier[0].pieces["before03"].tries = 0
	is("before03")
	a.current.pieces["now19"].tries = 0
	is("now19")
	a.current.pieces["now19"].later = time.Now().Add(time.Hour)
	is("before03")
	a.current, a.earlier = pieces("none", 0), nil
	for _, p := range a.current.pieces {
		p.later = time.Now().Add(time.Hour)
	}
	if of, p := a.next(); of != nil || p != nil || a.busy != nil {
		t.Errorf("next is %+v", p)
	}
}
