package recorder

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/decompress"
	"github.com/xdsproxy/xdsproxy/recorder/internal/queue"
	"github.com/xdsproxy/xdsproxy/session"
)

// shrinkAfter is the size of a message, in bytes, whose memory is worth giving
// back.
const shrinkAfter = 16 << 20

// writer is the goroutine that empties the queue of a log into its file. It is
// the only one that touches the fields.
type writer struct {
	log     *Log
	file    *logFile
	segment *segment // nil if there is only one
	expand  decompress.Decompressor
	// lost is what could not be written since the file began to fail.
	lost    queue.Holes
	failing bool
	adrift  bool      // the file is lost, and no other could be begun
	missed  time.Time // when its loss was noticed; zero: it is there
	sync    *syncer
	large   bool           // a message of at least shrinkAfter has passed since the log was idle
	spare   []queue.Record // the other slice of the queue, empty
}

func (w *writer) run() {
	defer close(w.log.done)
	defer w.expand.Close()
	look, over := w.looks()
	defer over()
	for {
		select {
		case <-look:
			w.look()
			continue
		case <-w.log.timer.C:
		case <-w.log.wake:
		case <-w.log.stop:
			w.log.err = w.finish()
			return
		}
		batch := w.take(false)
		idle := len(batch) == 0 || len(batch) == 1 && batch[0].Entry.Kind == session.KindTime
		w.write(batch)
		if idle && w.large {
			// The memory of large messages goes back to the system now: an
			// idle process would not even collect it for minutes.
			w.large = false
			heap.GiveBack()
		}
	}
}

// take takes what waits. If that is nothing, it may be time for a Time entry.
// The last batch has all that is still to say.
func (w *writer) take(last bool) []queue.Record {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if last && l.lost.Open() {
		l.tellLocked(&l.lost)
	}
	if len(l.queue.Waiting) == 0 || last {
		l.tickLocked(last)
	}
	l.woken = false
	batch := l.queue.Take(w.spare)
	w.spare = nil
	return batch
}

// write writes a batch, block by block, and gives its slots back.
func (w *writer) write(batch []queue.Record) {
	from := 0
	if len(batch) > 0 {
		w.look()
	}
	for i := range batch {
		e := &batch[i].Entry
		labels := w.prepare(e)
		fits, err := w.file.Measure(e)
		if err != nil {
			w.unprepared(e, err)
		}
		if !fits {
			w.commit(batch[from:i])
			from = i
			if w.rotate() {
				_, _ = w.file.Measure(e)
			}
		}
		w.file.Add(e, labels)
	}
	w.commit(batch[from:])
	w.rotate()
	if cap(batch) <= queue.SpareSlots {
		w.spare = batch[:0]
	}
	w.log.rest()
}

// prepare makes an entry what readers will see, but for its contents, and
// returns its labels.
func (w *writer) prepare(e *session.Entry) []string {
	if m := e.Message; m != nil {
		if m.Compressed {
			w.expand.Message(e)
		}
		w.large = w.large || e.Message.Size >= shrinkAfter
	}
	labels, err := w.log.o.prepare(e)
	if err != nil {
		w.unprepared(e, err)
	}
	return labels
}

// prepare lets Transform change an entry, and returns its labels. An entry with
// which that fails loses what it may have been about to mask.
func (o *Options) prepare(e *session.Entry) (labels []string, err error) {
	if o.Transform == nil && o.Labels == nil {
		return nil, nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			dropTexts(e)
			e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], blocks.ProblemUnprepared)
			err = blocks.Panicked(cause)
		}
	}()
	if o.Transform != nil {
		o.Transform(e)
	}
	if o.Labels != nil {
		labels = o.Labels(e)
	}
	return labels, nil
}

// dropTexts removes all that a peer chose freely, and that Transform may have
// been about to mask.
func dropTexts(e *session.Entry) {
	blocks.DropData(e)
	e.Headers, e.Sent = nil, nil
	e.Method, _, _ = strings.Cut(e.Method, "?")
	if e.Status != nil {
		status := *e.Status
		status.Message = ""
		e.Status = &status
	}
	if e.GoAway != nil {
		goAway := *e.GoAway
		goAway.Debug = ""
		e.GoAway = &goAway
	}
	if e.Held != nil {
		held := *e.Held
		held.Node, held.Address, held.Failed = "", "", ""
		e.Held = &held
	}
}

// unprepared says that a hook failed, but not with which words: they may hold
// what it was to mask.
func (w *writer) unprepared(e *session.Entry, err error) {
	fields := []zap.Field{zap.Uint64("seq", uint64(e.Seq)), zap.Error(err)}
	if p, ok := errors.AsType[*blocks.PanicError](err); ok {
		fields = append(fields, zap.ByteString("stack", p.Stack))
	}
	w.log.o.Logger.Error("entry lost its payload: preparing it for the recording failed", fields...)
}

// commit writes the block made of these records, which are done with then.
func (w *writer) commit(records []queue.Record) {
	if len(records) == 0 {
		return
	}
	err := w.file.Commit()
	recovered := err == nil && w.failing
	var messages, gaps uint64
	for i := range records {
		e := &records[i].Entry
		if err != nil {
			w.lost.Add(e)
			continue
		}
		switch {
		case e.Message != nil:
			messages++
		case e.Kind == session.KindGap:
			gaps++
		}
	}

	l := w.log
	l.mu.Lock()
	l.queue.Release(records)
	if err != nil {
		l.stats.Lost += uint64(len(records))
	} else {
		l.stats.Entries += uint64(len(records))
		l.stats.Messages += messages
		l.stats.Gaps += gaps
	}
	w.countLocked()
	l.stats.Failing = err != nil || w.adrift
	if recovered && w.lost.Open() {
		l.tellLocked(&w.lost)
	}
	l.mu.Unlock()
	clear(records)
	w.report(err, recovered)
	if err == nil {
		w.log.committed.send()
		w.sync.wrote()
	}
	w.reportSync()
}

// reportSync says once that the file cannot be synced, and once that it can
// again.
func (w *writer) reportSync() {
	err, is := w.sync.news()
	if !is {
		return
	}
	o := &w.log.o
	if err != nil {
		err = fmt.Errorf("cannot bring the recording %s to the disk: %w", w.log.path, err)
		o.Logger.Error(err.Error())
	} else {
		o.Logger.Warn("the recording is brought to the disk again", zap.String("path", w.log.path))
	}
	if o.OnError != nil {
		o.OnError(err)
	}
}

// countLocked makes the facts of the log those of its file.
func (w *writer) countLocked() {
	w.log.stats.Bytes = w.bytes()
	newest := &w.log.parts[len(w.log.parts)-1]
	*newest = w.file.facts(&newest.header)
}

// bytes is the length of the recording.
func (w *writer) bytes() int64 {
	if w.segment == nil {
		return w.file.End
	}
	return w.segment.before + w.file.End
}

// report says once that the file fails and once that it no longer does.
func (w *writer) report(err error, recovered bool) {
	o := &w.log.o
	switch {
	case err != nil && !w.failing:
		w.failing = true
		err = fmt.Errorf("cannot write the recording %s, entries are being lost: %w", w.log.path, err)
		o.Logger.Error(err.Error())
		if o.OnError != nil {
			o.OnError(err)
		}
	case recovered:
		w.failing = false
		o.Logger.Warn("the recording can be written again; a gap entry says what was lost",
			zap.String("path", w.log.path))
		if o.OnError != nil {
			o.OnError(nil)
		}
	}
}

// finish writes what is left, and the end mark if nothing is missing.
func (w *writer) finish() error {
	w.look()
	w.write(w.take(true))
	w.write(w.take(false)) // a gap that ended with the last write
	w.log.timer.Stop()
	w.file.Forget()
	var err error
	switch {
	case w.adrift:
		err = fmt.Errorf("cannot complete the recording %s: somebody else took its file away, and no other could be begun", w.log.path)
	case w.failing:
		err = fmt.Errorf("cannot complete the recording %s: its last entries could not be written", w.log.path)
	default:
		err = w.file.Finish(w.log.lastSeq())
		if err != nil {
			err = fmt.Errorf("cannot complete the recording %s: %w", w.log.path, err)
		}
	}
	w.log.mu.Lock()
	w.countLocked()
	w.log.mu.Unlock()
	w.file.tail.finish()
	w.log.committed.send()
	if serr := w.sync.finish(); err == nil && serr != nil {
		err = fmt.Errorf("cannot bring the recording %s to the disk: %w", w.log.path, serr)
	}
	if cerr := w.file.File.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("cannot complete the recording %s: %w", w.log.path, cerr)
	}
	w.log.committed.send() // a recording in memory that has no end is over with its Close
	return err
}

// tickPause is how long to wait for the next Time entry after a log has been
// idle for so long: a quarter of that, at least a second and at most an hour.
// So a deadline that is judged by entries is noticed at most a quarter late,
// and a week of silence costs a few hundred small entries, not 600,000.
func tickPause(idle time.Duration) time.Duration {
	return min(max(idle/4, time.Second), time.Hour)
}
