package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// rescue salvages b and reads what that wrote.
func rescue(t *testing.T, b []byte) ([]session.Entry, Facts, Rescued, error) {
	t.Helper()
	to, done, err := rescueOf(t.Context(), t, &counted{b: b}, nil)
	if err != nil {
		return nil, Facts{}, done, err
	}
	out := NewReader(bytes.NewReader(to))
	defer out.Close()
	all, err := drain(out)
	if facts := out.Facts(); err == nil && facts.Complete {
		return all, facts, done, nil
	}
	t.Fatalf("what is rescued is not whole: %+v, %v", out.Facts(), err)
	return nil, Facts{}, done, err
}

// rescueOf salvages c, and returns what that wrote.
func rescueOf(ctx context.Context, t *testing.T, c *counted, tell func(int64, uint64)) ([]byte, Rescued, error) {
	t.Helper()
	r := newFileReader("counted", c, io.NopCloser(nil))
	defer r.Close()
	var to memory
	s := newSalvage(r, r.src.(*fileSource), tell)
	err := s.begin(ctx)
	if err == nil {
		err = s.copyTo(ctx, &to)
	}
	return to.b, s.done, err
}

func TestSalvageOfWhatIsWhole(t *testing.T) {
	file, want, end := many(t, 100)
	for name, b := range map[string][]byte{"whole": file, "cut": file[:end], "torn": file[:end+3]} {
		all, facts, done, err := rescue(t, b)
		if err != nil || !reflect.DeepEqual(all, want) || done != (Rescued{Entries: uint64(len(want))}) {
			t.Errorf("%s: %d entries, %+v, %v", name, len(all), done, err)
		}
		if facts.Bytes > int64(len(file))+1000 {
			t.Errorf("%s: %d bytes became %d", name, len(file), facts.Bytes)
		}
	}
}

// An entry may have the highest number that there is, or claims to have a higher
// one: what follows it has no number, and what is rescued is whole.
func TestSalvageAfterTheLastNumber(t *testing.T) {
	for _, last := range []session.Seq{math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		m := new(memory)
		f, err := blocks.New(m, &format.FileHeader{Program: "test"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []session.Seq{1, last} {
			e := message(1, "payload")
			e.Seq = seq
			put(t, f, e)
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		f.Free()
		all, _, done, err := rescue(t, append(m.b, "neither a frame nor a block"...))
		if err != nil || done.Damages != 1 || len(all) < 2 {
			t.Errorf("%d: %d entries, %+v, %v", last, len(all), done, err)
		}
	}
}

// Wherever a byte is damaged, everything outside of its block is rescued, and
// what refers to the block says what it lost.
func TestSalvageAroundEveryByte(t *testing.T) {
	const blocks = 4
	file, ends := written(t, blocks)
	want, err := drain(NewReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	for at := ends[0]; at < len(file); at++ {
		bad := bytes.Clone(file)
		bad[at] ^= 0x55
		hit := slices.IndexFunc(ends, func(end int) bool { return end > at }) - 1 // the block; blocks: after them
		all, facts, done, err := rescue(t, bad)
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		var whole, partial int
		for _, e := range all {
			if e.Kind == session.KindGap {
				if hit == blocks && len(e.Problems) == 1 {
					continue // it cannot know that this was no entry
				}
				if e.Gap.First != want[2*hit].Seq || e.Gap.Last != want[2*hit+1].Seq && len(e.Problems) == 0 {
					t.Errorf("byte %d: block %d, gap %+v, %q", at, hit, e.Gap, e.Problems)
				}
				continue
			}
			switch original := want[e.Seq-1]; {
			case reflect.DeepEqual(e, original):
				whole++
			case e.Message.Truncated && len(e.Problems) == 1 && bytes.HasPrefix(e.Message.Data.Bytes(), []byte("payload")):
				partial++
			default:
				t.Errorf("byte %d: entry %d is not what was written: %+v", at, e.Seq, e)
			}
		}
		lost := 2
		if hit == blocks {
			lost = 0
		}
		// What all entries share is defined by the first block.
		if first := hit == 0 && partial == 2*blocks-lost; !first && partial > 0 || whole+partial < 2*blocks-lost {
			t.Errorf("byte %d: %d entries whole, %d in part, %+v", at, whole, partial, done)
		}
		if done.Damages > 1 || hit < blocks && done.Damages != 1 || hit < blocks-1 && done.Bytes != int64(ends[hit+1]-ends[hit]) {
			t.Errorf("byte %d: %d damaged places of %d bytes", at, done.Damages, done.Bytes)
		}
		if done.Partial != uint64(partial) || done.Lost != facts.Lost || done.Entries != uint64(whole+partial) {
			t.Errorf("byte %d: %+v, %+v", at, done, facts)
		}
	}
}

// Damage in several places, of which some destroy many blocks at once.
func TestSalvageMuchDamage(t *testing.T) {
	file, want, end := many(t, 100)
	for _, at := range []int{end / 5, end / 2, 4 * end / 5} {
		copy(file[at:], noise(300_000)[:min(300_000, end-at)])
	}
	all, facts, done, err := rescue(t, file)
	if err != nil || done.Damages < 3 || facts.Gaps < 3 || len(all) < len(want)/3 {
		t.Fatalf("%d entries of %d, %+v, %v", len(all), len(want), done, err)
	}
	byNumber := make(map[session.Seq]session.Entry)
	for _, e := range want {
		byNumber[e.Seq] = e
	}
	lost, last := uint64(0), session.Seq(0)
	for _, e := range all {
		// What is missing is all between two entries, and is counted.
		if _, own := byNumber[e.Seq]; e.Kind == session.KindGap && !own {
			if lost += e.Gap.Entries; e.Gap.First != last+1 || e.Gap.Last != e.Seq || e.Gap.Entries != uint64(e.Gap.Last-e.Gap.First)+1 {
				t.Errorf("after entry %d is missing %+v", last, e.Gap)
			}
		}
		last = e.Seq
		if e.Kind != session.KindGap && len(e.Problems) == 0 && !reflect.DeepEqual(e, byNumber[e.Seq]) {
			t.Errorf("entry %d is not what was written", e.Seq)
		}
	}
	if lost == 0 || lost != done.Lost {
		t.Errorf("%d entries are missing, and %d are said to be", lost, done.Lost)
	}
}

func TestSalvageFiles(t *testing.T) {
	dir := t.TempDir()
	file, _ := written(t, 1)
	from, text := filepath.Join(dir, "from"), filepath.Join(dir, "text")
	if err := errors.Join(os.WriteFile(from, file, 0o600), os.WriteFile(text, []byte("no recording"), 0o600)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "to")
	if done, err := Salvage(context.Background(), from, to, nil); err != nil || done.Entries != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	if all, facts := readAll(t, to); len(all) != 2 || !facts.Complete {
		t.Errorf("%d entries, %+v", len(all), facts)
	}
	if _, err := Salvage(context.Background(), from, text, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a file: %v", err)
	}
	if _, err := Salvage(context.Background(), text, filepath.Join(dir, "other"), nil); err == nil || !strings.Contains(err.Error(), "not a recording") {
		t.Errorf("of text: %v", err)
	}
}

func FuzzSalvage(f *testing.F) {
	file, ends := written(f, 3)
	f.Add(file, 100, byte(1))
	f.Add(file[:ends[2]+5], ends[1], byte(8))
	f.Add(file[:ends[2]], 20, byte(8))
	f.Fuzz(func(t *testing.T, b []byte, at int, flip byte) {
		b = append(bytes.Clone(file[:ends[1]]), b...) // something that begins well
		if at >= 0 && at < len(b) {
			b[at] ^= flip // the header, too
		}
		all, _, done, err := rescue(t, b)
		if err != nil {
			t.Fatal(err)
		}
		if n := uint64(len(all)); n < done.Entries {
			t.Errorf("%d entries, %+v", n, done)
		}
	})
}

// A gap names the streams that were open, and no other: of these nothing can be
// said without what is missing.
func TestSalvageNamesOpenStreams(t *testing.T) {
	open := openStreams{}
	for _, e := range []session.Entry{
		{Kind: session.KindConnect, Conn: 1},
		{Kind: session.KindOpen, Conn: 1, Stream: 1},
		{Kind: session.KindOpen, Conn: 1, Stream: 2},
		{Kind: session.KindMessage, Conn: 2, Stream: 3},
		{Kind: session.KindOpen, Conn: 2, Stream: 4},
		{Kind: session.KindOpen, Conn: 1, Stream: 5},
		{Kind: session.KindTrailer, Conn: 1, Stream: 2},
		{Kind: session.KindCancel, Conn: 1, Stream: 5},
		{Kind: session.KindDisconnect, Conn: 2},
	} {
		open.step(&e)
	}
	if !reflect.DeepEqual(open, openStreams{1: 1}) {
		t.Errorf("%v are open", open)
	}
	for id := range session.StreamID(2 * format.MaxGapStreams) {
		open.step(&session.Entry{Kind: session.KindOpen, Conn: 9, Stream: id + 1})
	}
	open.step(&session.Entry{Kind: session.KindDisconnect, Conn: 9})
	if len(open) != format.MaxGapStreams {
		t.Errorf("%d of more than can be told apart are named", len(open))
	}
}
