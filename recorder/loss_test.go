package recorder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// ways are what somebody else may do to the file of a recording.
var ways = map[string]func(path string) error{
	"was removed or renamed": os.Remove,
	"was replaced by another file": func(path string) error {
		_ = os.Rename(path, path+".old")
		return os.WriteFile(path, []byte("a stranger's"), 0o600)
	},
	"was truncated to 0 of": func(path string) error { return os.Truncate(path, 0) },
	"was overwritten":       overwrite,
}

// overwrite puts more bytes into the file than were in it.
func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(noise(1<<20), 0)
	return errors.Join(err, f.Close())
}

// await waits for what comes by itself.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so", what)
		}
	}
}

func TestLostFile(t *testing.T) {
	for why, lose := range ways {
		for _, size := range []int64{0, 40_000} {
			t.Run(fmt.Sprintf("%s %d", why, size), func(t *testing.T) {
				losses := make(chan Loss, 10)
				o := Options{MaxSize: size, MaxAge: 0, OnLost: func(l Loss) { losses <- l }}
				if size == 0 {
					o.MaxAge = time.Hour // rotating gives it a size otherwise
				}
				l, write := rotating(t, o)
				first := l.Path()
				taken := strings.TrimSuffix(first, ".xdsp") + "-2.xdsp"
				if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				along, err := l.Reader()
				if err != nil {
					t.Fatal(err)
				}
				defer along.Close()
				along.Follow(true)
				var want, got []session.Entry
				for range 20 {
					want = append(want, write())
					e, err := along.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, e)
				}
				if err := lose(first); err != nil {
					t.Fatal(err)
				}
				// Nothing needs to pass for it to be noticed.
				var loss Loss
				select {
				case loss = <-losses:
				case <-time.After(time.Minute):
					t.Fatal("nothing is said")
				}
				next := strings.TrimSuffix(first, ".xdsp") + "-3.xdsp"
				if loss.Entries == 0 || loss.Entries > 20 {
					t.Errorf("%d entries in the lost file", loss.Entries)
				}
				if loss.Path != first || !strings.HasPrefix(loss.Why, why) || loss.Next != next || l.Path() != next || l.Stats().Losses != 1 {
					t.Errorf("%+v, goes on in %s", loss, l.Path())
				}
				for range 20 {
					want = append(want, write())
				}
				closeLog(t, l)
				// Who reads along misses nothing.
				rest, err := drain(along)
				if err != nil {
					t.Error(err)
				}
				got = messagesOf(append(got, rest...))
				for i := range got {
					got[i].Message.Data = session.Chunks{got[i].Message.Data.Bytes()}
				}
				sameMessages(t, got, want)
				// The new file is a recording of all that came after.
				later, facts := readAll(t, next)
				carried := 0
				for len(later) > 0 && later[0].Carried {
					carried, later = carried+1, later[1:]
				}
				// It repeats what it needs, or says that it cannot.
				told := slices.ContainsFunc(later, func(e session.Entry) bool {
					return e.Note != nil && e.Note.Code == session.NoteUnrepeated && strings.Contains(e.Note.Text, why)
				})
				gone := strings.HasPrefix(why, "was truncated") || strings.HasPrefix(why, "was overwritten")
				if told != gone || gone != (carried == 0) {
					t.Errorf("%d entries are repeated, noted: %v", carried, told)
				}
				sameMessages(t, messagesOf(later), want[20:])
				if !facts.Complete || facts.Lost != 20 {
					t.Errorf("facts %+v", facts)
				}
				if b, err := os.ReadFile(taken); err != nil || string(b) != "mine" {
					t.Errorf("%s holds %q, %v", taken, b, err)
				}
				if b, _ := os.ReadFile(first); strings.HasPrefix(why, "was replaced") && string(b) != "a stranger's" {
					t.Errorf("%s holds %q", first, b)
				}
				if b, _ := os.ReadFile(first); why == "was overwritten" && !bytes.Equal(b, noise(1<<20)) {
					t.Errorf("%s was written to", first)
				}
				if info, _ := os.Stat(first); strings.HasPrefix(why, "was truncated") && info.Size() != 0 {
					t.Errorf("%s has %d bytes again", first, info.Size())
				}
				if size > 0 {
					more, err := filepath.Glob(strings.TrimSuffix(next, ".xdsp") + ".??????.xdsp")
					if err != nil || len(more) == 0 {
						t.Errorf("segments after the loss: %q, %v", more, err)
					}
				}
			})
		}
	}
}

// messagesOf are the entries with a message.
func messagesOf(all []session.Entry) []session.Entry {
	return slices.DeleteFunc(all, func(e session.Entry) bool { return e.Message == nil })
}

// Without Carry, what a new file has to repeat is found in the lost one, and then
// in that which repeats it.
func TestLostFileIsReadAgain(t *testing.T) {
	for _, lose := range []func(path string) error{
		os.Remove, func(path string) error { return os.Rename(path, path+".old") }, ways["was replaced by another file"],
	} {
		o := Options{NoTicks: true, OnLost: func(Loss) {}}
		o.Recall = func() (func(*session.Entry), func() []session.Seq) {
			var first, last session.Seq
			return func(e *session.Entry) { first, last = cmp.Or(first, e.Seq), e.Seq },
				func() []session.Seq { return []session.Seq{first, last} }
		}
		l := create(t, o)
		for losses := uint64(1); losses < 3; losses++ {
			for i := range 10 {
				l.Append(response(session.Chunks{fmt.Appendf(nil, "push %d", i), noise(2000)}))
			}
			settle(l)
			if err := lose(l.Path()); err != nil {
				t.Fatal(err)
			}
			await(t, "the loss is noticed", func() bool { return l.Stats().Losses == losses })
		}
		l.Append(response(session.Chunks{[]byte("the last")}))
		closeLog(t, l)
		entries, facts := readAll(t, l.Path())
		var seqs []session.Seq
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
			if carried := e.Seq < 21; e.Carried != carried {
				t.Errorf("entry %d is repeated: %v", e.Seq, e.Carried)
			}
		}
		if !slices.Equal(seqs, []session.Seq{1, 20, 21}) || !facts.Complete {
			t.Errorf("entries %d, %+v", seqs, facts)
		}
	}
}

// What somebody puts behind the end of a recording is no part of it.
func TestGrownFile(t *testing.T) {
	l := create(t, Options{NoTicks: true, OnLost: func(Loss) {}})
	l.Append(response(session.Chunks{[]byte("one")}))
	settle(l)
	if err := os.Truncate(l.Path(), 1<<20); err != nil {
		t.Fatal(err)
	}
	await(t, "it is cut off", func() bool {
		info, err := os.Stat(l.Path())
		return err == nil && info.Size() < 1<<20
	})
	l.Append(response(session.Chunks{[]byte("two")}))
	settle(l)
	if err := os.Truncate(l.Path(), 1<<20); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	if entries, facts := readAll(t, l.Path()); len(entries) != 2 || !facts.Complete || l.Stats().Losses != 0 {
		t.Errorf("%d entries, %+v", len(entries), facts)
	}
}

// Old segments are deleted as before, whatever their name.
func TestLostFileAndRetention(t *testing.T) {
	l, write := rotating(t, Options{MaxSize: 40_000, Keep: 2, OnLost: func(Loss) {}})
	for range 60 {
		write()
	}
	if err := os.Remove(l.Path()); err != nil {
		t.Fatal(err)
	}
	await(t, "the loss is noticed", func() bool { return l.Stats().Losses == 1 })
	for range 100 {
		write()
	}
	closeLog(t, l)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(l.Path()), "*"))
	if err != nil || len(files) != 3 {
		t.Errorf("%q, %v", files, err)
	}
	if f := l.Facts(); !f.Complete || f.Entries-2+f.Lost != 160 { // the oldest that is left repeats 2
		t.Errorf("facts %+v", f)
	}
}

// Where no other file can be begun, that is told for as long as it lasts.
func TestLostDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 10)
	l, err := Create(filepath.Join(dir, "session.xdsp"), Options{
		NoTicks: true, OnLost: func(Loss) {}, OnError: func(err error) { told <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err == nil || !strings.Contains(err.Error(), "was removed or renamed, no other can be begun, and what passes is kept only if that file was renamed") || !l.Stats().Failing {
		t.Errorf("told %v, %+v", err, l.Stats())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := <-told; err != nil || l.Stats().Failing || l.Stats().Losses != 1 {
		t.Errorf("told %v, %+v", err, l.Stats())
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	<-told
	if err := l.Close(); err == nil || !strings.Contains(err.Error(), "no other could be begun") {
		t.Errorf("closed with %v", err)
	}
}
