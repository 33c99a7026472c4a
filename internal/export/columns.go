package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/columns"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// DefaultCluster is that of recordings whose path names none.
const DefaultCluster = "default"

// Tables are what -o parquet needs to know beside the sources.
type Tables struct {
	Cluster string // of recordings whose path names none
	Since   string // when, or how far back from now
	Clear   bool   // recordings with secrets in the clear are exported as they are
}

// columns writes recordings as tables.
func (x *Export) columns(ctx context.Context, sources []string) error {
	o := columns.Options{Program: build.Name()}
	switch {
	case len(sources) == 0:
		return console.Misused("export needs a SOURCE")
	case x.Path == "" || x.Path == "-":
		return console.Misused("-o parquet needs -w DIR: where are the tables to go?")
	case strings.Contains(x.Path, "://"):
		return console.Misused("-o parquet writes to a directory, and %q is a URL", x.Path).
			Hint("copy the directory there: aws s3 sync DIR s3://BUCKET/PREFIX --exclude '_incomplete/*'")
	case len(x.Seqs) > 0 || x.Filter != "" || x.Bare:
		return console.Misused("-o parquet writes whole recordings: --since says from when on").
			Hint("cut a part out first: xdsproxy export %s --seq SEQ -w part.xdsp", console.ShellWord(sources[0]))
	case x.Pseudonymous:
		return console.Misused("-o parquet does not put stand-ins: they would hang on each recording").
			Hint("make recordings with stand-ins first: xdsproxy export %s --pseudonyms -w part.xdsp", console.ShellWord(sources[0]))
	case x.Client != "" || x.KeyFile != "":
		return console.Misused("-o parquet writes whole recordings, with their names: --client and --key-file are of no use")
	case x.Mask || x.Repairing:
		return console.Misused("--mask and --repair write a recording").Hint("export from the copy that they make")
	case x.Tables.Cluster == "" || len(columns.Partition(x.Tables.Cluster)) > columns.MaxPartition:
		return console.Misused("--cluster is empty or too long")
	}
	var err error
	if o.Since, err = sinceWhen(x.Tables.Since, time.Now()); err != nil {
		return err
	}
	all, err := x.recordings(ctx, sources, o.Since)
	if err != nil {
		return err
	}
	x.lean()
	d, err := columns.Open(x.Path, o)
	if err != nil {
		return unwrittenTables(err)
	}
	job := &tables{Export: x, to: d, since: o.Since, sources: make(map[columns.Recording][]string)}
	failed := job.run(ctx, all)
	if err := d.Close(); err != nil && failed == nil {
		failed = unwrittenTables(err)
	}
	if failed == nil || job.entries > 0 {
		x.Say("%s", job.words(len(all)))
	}
	return failed
}

// sinceWhen reads what --since says.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly, "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	back := strings.TrimPrefix(text, "-")
	if days, is := strings.CutSuffix(back, "d"); is {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)).UTC(), nil
		}
	}
	if d, err := time.ParseDuration(back); err == nil && d >= 0 {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, console.Misused("--since %q is neither a time such as 2026-03-09 or 2026-03-09T12:41:07Z, nor how far back, such as 36h or 7d", text)
}

// recordings finds what is to be exported.
func (x *Export) recordings(ctx context.Context, sources []string, since time.Time) (all []*fleet.Recording, err error) {
	for _, name := range sources {
		if _, live := input.ViewerAddr(name); live || name == "-" || input.IsScript(name) || input.IsFile(name) {
			return nil, console.Misused("-o parquet reads recordings, and %q is none", name).Hint("write a recording of it first: xdsproxy export %s -w FILE.xdsp", console.ShellWord(name))
		}
		path := name
		if !input.IsMany(name) && !input.IsURL(name) {
			if path, err = input.Path(name); err != nil {
				return nil, err
			}
		}
		before := len(all)
		for r, err := range fleet.Recordings(ctx, path, fleet.Options{Since: since, Tell: x.Warn}) {
			if err != nil {
				return nil, input.Unreadable(err)
			}
			all = append(all, r)
		}
		if len(all) == before {
			if since.IsZero() {
				return nil, console.Failed("there is no recording in %q", name).Hint("recordings are files that end in .xdsp")
			}
			x.Warn("there is no recording in %q of the days that were asked for", name)
		}
	}
	return all, nil
}

// tables is the export of many recordings, several of them at once.
type tables struct {
	*Export
	to    *columns.Dir
	since time.Time

	mu       sync.Mutex
	failed   error // the first
	failures int
	stopped  bool                           // the directory cannot be written
	sources  map[columns.Recording][]string // of each recording
	entries  uint64
	read     int64 // bytes
	seen     uint64
	progress *console.Progress
}

func (j *tables) run(ctx context.Context, all []*fleet.Recording) error {
	var total int64
	for _, r := range all {
		total += r.Size
	}
	j.progress = j.Progress("exporting", "", func() (int64, uint64) { return j.read, j.seen }).Of(total)
	defer j.progress.End()
	next := make(chan *fleet.Recording)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(len(all), 1)) {
		workers.Go(func() {
			for r := range next {
				if ctx.Err() == nil && !j.over() {
					j.report(r, j.one(ctx, r))
				}
			}
		})
	}
	for _, r := range all {
		next <- r
	}
	close(next)
	workers.Wait()
	j.sayOne()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return j.failed
}

func (j *tables) over() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stopped
}

// report notes how a recording failed. What could be read of others is exported all the
// same; that the directory cannot be written is the end.
func (j *tables) report(r *fleet.Recording, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, unwritable := errors.AsType[*columns.WriteError](err)
	if unwritable {
		err = unwrittenTables(err)
		if j.stopped {
			return // it was said
		}
		j.stopped = true
	} else if !console.Said(err) {
		err = input.Unreadable(err)
	}
	j.failures++
	if j.failed == nil {
		j.failed = err
		return
	}
	if unwritable || input.Damaged(err) && !input.Damaged(j.failed) {
		err, j.failed = j.failed, err
	}
	if strings.HasPrefix(err.Error(), r.Source+" ") {
		j.Warn("%v", err)
		return
	}
	j.Warn("%s: %v", r.Source, err)
}

// one exports a recording.
func (j *tables) one(ctx context.Context, r *fleet.Recording) error {
	facts, have, err := j.look(ctx, r)
	if err != nil && !input.Damaged(err) {
		return err
	}
	of := j.of(r, facts)
	j.meet(of)
	switch {
	case have(of):
		j.passed(r.Size, 0)
		return nil
	case !facts.Masked && !j.Tables.Clear:
		return console.Failed("%q has secrets in the clear, and is not exported", r.Source).
			Hint("mask it first: xdsproxy export %s --mask -w masked.xdsp", console.ShellWord(r.Source)).
			Hint("--keep-secrets exports it as it is")
	}
	src, err := r.Open(ctx, j.Warn)
	if err != nil {
		return err
	}
	defer src.Close()
	src.Pieces()
	src.Ahead()
	checker := check.NewChecker(j.Judge)
	done, err := j.to.Export(of, checker, func(step *check.Checker, visit func(*session.Entry, *check.Change) error) error {
		return j.walk(ctx, r.Source, src, step, visit)
	})
	j.mu.Lock()
	j.entries += done.Entries
	j.mu.Unlock()
	if done.Missed > 0 && j.since.IsZero() {
		j.Warn("%s: %s deleted before they were exported", r.Source, render.Count(done.Missed, "entry was", "entries were"))
	}
	if done.Untold > 0 {
		j.Warn("%s: too many connections were open at once: %s not in the table", r.Source, render.Count(done.Untold, "is", "are"))
	}
	return err
}

// look says what can be known of a recording without reading its entries, and whether
// all of it that is wanted was exported.
func (j *tables) look(ctx context.Context, r *fleet.Recording) (facts recorder.Facts, have func(columns.Recording) bool, err error) {
	have = func(columns.Recording) bool { return false }
	src, err := r.Open(ctx, nil)
	if err != nil {
		return facts, have, err
	}
	defer src.Close()
	facts, err = src.Inspect()
	if err != nil {
		return facts, have, err // damage, which the reading tells of
	}
	if !j.since.IsZero() {
		if facts.Last.Before(j.since) {
			return facts, func(columns.Recording) bool { return true }, nil
		}
		if err := src.SeekTime(j.since); err != nil {
			return facts, have, err
		}
	}
	for e, err := range src.Entries(ctx) {
		if err != nil || e.Carried || columns.LeftOut(&e) || e.Time.Before(j.since) {
			if err != nil {
				return facts, have, err
			}
			continue
		}
		first, last := int64(e.Seq), int64(facts.LastSeq)
		return facts, func(of columns.Recording) bool { return j.to.Has(of, first, last) }, nil
	}
	return facts, func(columns.Recording) bool { return true }, nil
}

// of says by what a recording is known: in an archive by its path, else by when it was
// begun and its name.
func (j *tables) of(r *fleet.Recording, facts recorder.Facts) columns.Recording {
	of := columns.Recording{Cluster: r.Cluster, Proxy: r.Proxy, Name: r.Name, Key: r.Proxy, Source: r.Source}
	if of.Cluster == "" {
		// Its proxy is named after the path, which is another where one more or one less
		// directory is named.
		of.Cluster, of.Key = j.Tables.Cluster, ""
		if !facts.Created.IsZero() {
			of.Name = facts.Created.UTC().Format("20060102T150405.000000000Z") + "-" + r.Name
		}
	}
	return of
}

// meet notes where a recording is.
func (j *tables) meet(of columns.Recording) {
	source := of.Source
	of.Source, of.Proxy = "", ""
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Contains(j.sources[of], source) {
		j.sources[of] = append(j.sources[of], source)
	}
}

// sayOne says which sources count as one recording: one of them may have been edited.
func (j *tables) sayOne() {
	var said []string
	for _, sources := range j.sources {
		if len(sources) > 1 {
			slices.Sort(sources)
			said = append(said, strings.Join(sources, ", "))
		}
	}
	slices.Sort(said)
	for _, s := range said {
		j.Say("these are one recording, by its name and when it was begun, and what several of them have is written once: %s", s)
	}
}

// walk reads a recording to its end.
func (j *tables) walk(ctx context.Context, name string, src *recorder.Reader, step *check.Checker, visit func(*session.Entry, *check.Change) error) error {
	var read int64
	for n := 0; ; n++ {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			j.passed(src.Facts().Bytes-read, 0)
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			input.Describe(j.Types, name, src.Facts(), j.Warn)
		}
		if n%64 == 0 {
			now := src.Facts().Bytes
			j.passed(now-read, 64)
			read = now
			if j.over() {
				return context.Canceled
			}
		}
		c := step.Step(&e)
		if err := visit(&e, &c); err != nil {
			return err
		}
	}
}

// passed counts what was read, and shows it.
func (j *tables) passed(bytes int64, entries uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.read += bytes
	for range entries {
		j.seen++
		j.progress.Advance()
	}
}

// words say what was written.
func (j *tables) words(recordings int) string {
	of := render.Count(recordings, "recording", "recordings")
	if j.entries == 0 {
		return fmt.Sprintf("nothing is new in %s", of)
	}
	return fmt.Sprintf("wrote %s of %s to %s", render.Count(j.entries, "new entry", "new entries"), of, j.Path)
}

// unwrittenTables gives an error of writing its words.
func unwrittenTables(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	f := console.Failed("%w", err)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Hint("make room and say the same again: it goes on where it was")
	case isBusy(err):
		f.Hint("wait until it has ended")
	}
	return f
}

func isBusy(err error) bool {
	_, is := errors.AsType[*columns.BusyError](err)
	return is
}
