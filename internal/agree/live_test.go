package agree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Who reads along while a session is recorded is told, entry by entry, what the
// file tells afterwards.
func TestReadingAlong(t *testing.T) {
	dir := t.TempDir()
	eachConversation(t, fewer(), func(_ uint64, text string) []disagreement {
		entries, err := play(text)
		if err != nil {
			return unplayable(err)
		}
		found, err := alongAndAfter(dir, entries)
		if err != nil {
			return []disagreement{{"reading along", 0, err.Error()}}
		}
		return found
	})
}

func alongAndAfter(dir string, entries []session.Entry) ([]disagreement, error) {
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.xdsp")
	masker := mask.New()
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, SyncEvery: -1, Masked: true, Transform: masker.Transform, Content: masker.Content})
	if err != nil {
		return nil, err
	}
	live, err := log.Reader()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	live.Follow(true)
	type told struct {
		lines []string
		err   error
	}
	along := make(chan told, 1)
	go func() {
		lines, err := tells(live)
		along <- told{lines, err}
	}()
	for _, e := range entries {
		log.Append(e)
	}
	err = log.Close()
	a := <-along
	if err = errors.Join(err, a.err); err != nil {
		return nil, err
	}
	file, err := recorder.Open(path)
	if err != nil {
		return nil, err
	}
	after, err := tells(file)
	if err != nil {
		return nil, err
	}
	for i := range max(len(a.lines), len(after)) {
		if i >= len(a.lines) || i >= len(after) {
			return []disagreement{{"reading along", session.Seq(i + 1), fmt.Sprintf("%d entries, and %d in the file", len(a.lines), len(after))}}, nil
		}
		if a.lines[i] != after[i] {
			return []disagreement{{"reading along", session.Seq(i + 1), fmt.Sprintf("%s, and in the file %s", a.lines[i], after[i])}}, nil
		}
	}
	return nil, nil
}

// tells says of each entry what it means and what was found with it, and closes
// the reader.
func tells(r *recorder.Reader) (lines []string, err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	r.Pieces()
	k := check.NewChecker(check.Options{})
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			return nil, err
		}
		c := k.Step(&e)
		lines = append(lines, fmt.Sprintf("%d %s: ", e.Seq, e.Kind)+digest(&c, same)+found(&c))
	}
	return lines, nil
}
