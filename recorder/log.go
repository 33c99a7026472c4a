package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/recorder/internal/queue"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	defaultQueueBytes = 64 << 20
	// flushAfter is how long an entry waits for others to be written with.
	flushAfter = 50 * time.Millisecond
	// flushBytes is what makes the writer start at once.
	flushBytes = 1 << 20
)

// Options say how a log is written. The zero value is fine.
type Options struct {
	// Transform may change an entry, and replace its Message and Headers,
	// before anyone else sees it: it is where secrets are masked. It is called
	// in order, on the writer's goroutine, with messages decompressed, unless
	// Message.Compressed is still true. If it panics, the entry loses its
	// payload, its headers and what else a peer chose freely.
	Transform func(*session.Entry)
	// Content is given each chunk of a message's data that is to be stored,
	// and returns what to store in its place, of the same length: the chunk
	// itself, or a copy with its secrets masked. What a chunk becomes must
	// hang on its bytes alone: a chunk that repeats an earlier one may be
	// stored as that was, without a call. If Content changed any chunk of a
	// message, the message is Masked. It is called on the writer's
	// goroutine, after Transform, which decides where chunks begin and end:
	// what is the same in many messages should be a chunk of its own. It
	// must not write to its argument; nil stores chunks as they are. If it
	// panics, the entry loses its payload.
	Content func(chunk []byte) []byte
	// Labels names what an entry is about, as it is after Transform. The
	// labels of all entries of a block are noted in its header. None if nil.
	Labels func(*session.Entry) []string
	// Masked is noted in the file: its Transform masks secrets.
	Masked bool
	// Program is noted in the file: what wrote it, such as "xdsproxy v1.2.0".
	Program string
	// Descriptors are those of types in it, a FileDescriptorSet of at most 16 MiB,
	// which each segment has with it for who reads it; may be nil.
	Descriptors []byte
	// QueueBytes bounds what waits to be written; 64 MiB if zero.
	QueueBytes int64
	// SyncEvery is how long after it was written something is brought to the
	// disk, by a goroutine that nothing waits for but Close; 200 ms if zero,
	// never if negative. Without it, what was written survives the end of
	// this process, but not that of the machine.
	SyncEvery time.Duration
	// MaxSize and MaxAge bound the segments of a recording, in bytes and from
	// their beginning; there is but one if both are zero. The newest segment
	// has the name of the recording; those before it are renamed, x.xdsp to
	// x.000001.xdsp and so on. Keep is how many of them are kept; all if zero.
	MaxSize int64
	MaxAge  time.Duration
	Keep    int
	// Spare is asked, on the writer's goroutine, about the segments that Keep is
	// about to delete, the oldest first, and names those that stay for now. The
	// next segment asks again. None if nil.
	Spare func([]Old) []uint64
	// Rotated is called, on the writer's goroutine, when a segment has ended. It
	// must not wait.
	Rotated func()
	// Tail bounds what of a file is kept in memory for the readers that Reader
	// returns, while there are any; 4 MiB if zero, nothing if negative.
	Tail int64
	// Memory bounds what NewRing keeps; 64 MiB if zero.
	Memory int64
	// Carry says, when a new segment begins, which entries it repeats so that
	// it can be understood alone: by number, from what Transform was given.
	// They must be in the segment that ends; that those it repeated itself
	// are, too, makes that possible for ever. It is called on the writer's
	// goroutine.
	Carry func() []session.Seq
	// Recall finds the same without Carry, after a Loss: step is given each
	// entry of the lost file, in order, and needed says then what to repeat.
	// It is called on the writer's goroutine.
	Recall func() (step func(*session.Entry), needed func() []session.Seq)
	// NoTicks leaves out Time entries: the entries bring their times from
	// elsewhere, so that our clock says nothing about them.
	NoTicks bool
	// OnError is called, on the writer's goroutine, with an error when the
	// file can no longer be written or synced, and with nil when it can again.
	OnError func(error)
	// OnLost is called, on the writer's goroutine, when the newest file of the
	// recording was removed, renamed, replaced, truncated or overwritten by
	// somebody else, and the recording goes on in another. The writer looks for that if it is
	// not nil, twice a second.
	OnLost func(Loss)
	// Logger is told the same, and more; nothing if nil.
	Logger *zap.Logger
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Log is a recording that is being written. Its methods may be called from any
// goroutine.
type Log struct {
	path      string
	o         Options
	w         *writer
	store     segmentSource // of the segments; nil if there is only one
	tail      *tail         // nil if the recording is in memory
	committed broadcast     // sent when readers find more, or that there is no more

	mu     sync.Mutex
	queue  queue.Queue
	lost   queue.Holes // what found no room since the last Gap entry
	seq    session.Seq
	clock  clock
	last   time.Time // of the newest entry
	active time.Time // of the newest entry that was not a Time entry
	woken  bool      // wake was sent to for what waits
	closed bool
	stats  Stats
	parts  []partFacts // of the segments that are left, the newest last

	// timer runs while something waits, and for the next Time entry; wake
	// says that much waits.
	timer *time.Timer
	wake  chan struct{}
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed when the writer is gone
	err   error         // what Close returns; set before done is closed
}

// Stats counts what a log has done so far.
type Stats struct {
	Entries  uint64 // written, the log's own included
	Messages uint64 // of them
	Gaps     uint64 // of them
	Lost     uint64 // entries dropped: they found no room, or could not be written
	Bytes    int64  // length of the file, and of its earlier segments
	Queued   int64  // charged for what is not written yet
	Failing  bool   // the file cannot be written at the moment
	Losses   uint64 // files that somebody else removed, renamed, replaced, truncated or overwritten
	Segment  uint64 // that is written, as FileHeader counts them

	Last session.Seq // the highest number given, whether it is written yet or not
}

// Create starts a recording at path, with mode 0600. The file must not exist
// yet: fs.ErrExist says that it does.
func Create(path string, o Options) (*Log, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cannot start a recording at %s: %w", path, err)
	}
	f, err := createFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot start a recording: %w", err)
	}
	l, err := start(path, f, o)
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		return nil, fmt.Errorf("cannot start a recording at %s: %w", path, err)
	}
	return l, nil
}

// start is startIn for a file.
func start(path string, f blocks.File, o Options) (*Log, error) {
	if o.MaxSize <= 0 && o.MaxAge <= 0 && o.OnLost == nil {
		return startIn(path, f, o, nil)
	}
	return startIn(path, f, o, &family{path: path})
}

// startIn writes the header and lets the writer run. The segments go to store;
// there is but one if it is nil.
func startIn(path string, f blocks.File, o Options, store segmentStore) (*Log, error) {
	if o.QueueBytes <= 0 {
		o.QueueBytes = defaultQueueBytes
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{
		path:  path,
		o:     o,
		queue: queue.New(o.QueueBytes),
		timer: time.NewTimer(time.Hour),
		wake:  make(chan struct{}, 1),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	l.timer.Stop()
	packed, err := format.PackDescriptors(o.Descriptors)
	if err != nil {
		return nil, err
	}
	h := format.FileHeader{Created: l.now(), Program: o.Program, Masked: o.Masked, Descriptors: packed}
	var s *segment
	if store != nil {
		h.Segment, h.First, h.Began = 1, 1, h.Created
		s = &segment{store: store, header: h, begun: o.Now()}
		if f, ok := store.(*family); ok {
			f.began = h.Began
		}
	}
	if path != "" {
		l.tail = newTail(o.Tail)
	}
	file, err := l.newFile(f, &h, o.Content)
	if err != nil {
		return nil, err
	}
	l.stats.Bytes, l.stats.Segment = file.End, h.Segment
	l.parts = []partFacts{file.facts(&h)}
	if store != nil {
		l.store = store
	}
	l.w = &writer{log: l, file: file, segment: s, sync: newSyncer(f, o.SyncEvery)}
	go l.w.run()
	return l, nil
}

// Path is the absolute path of the recording; "" if it is in memory.
// After a Loss it is another.
func (l *Log) Path() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.path
}

// Reader returns a reader of the recording from its beginning, or what is left
// of it. What was written last it reads from memory, and if it follows, each
// commit wakes it. It gives the same as one that Open returns, and nothing
// before that could. The caller closes it.
func (l *Log) Reader() (*Reader, error) { return l.readerOf(l.segments()) }

func (l *Log) readerOf(from segmentSource) (*Reader, error) {
	leave := l.tail.enter()
	r, err := l.open(from)
	if err != nil {
		leave()
		return nil, err
	}
	r.committed, r.leave = &l.committed, leave
	return r, nil
}

func (l *Log) open(from segmentSource) (*Reader, error) {
	if from == nil {
		r, err := openFile(l.Path())
		if err == nil {
			l.tail.attach(r)
		}
		return r, err
	}
	r, err := from.find(1)
	if err != nil {
		return nil, err
	}
	r.family, r.facts.Path = from, l.Path()
	r.countDeleted()
	return r, nil
}

// segments is where readers in this process find them; nil if there is only one.
func (l *Log) segments() segmentSource {
	if l.store != nil && l.tail != nil {
		return &tailSegments{segmentSource: l.store, tail: l.tail}
	}
	return l.store
}

// Append adds an entry and returns the number that it got. It never waits: if
// there is no room the entry is dropped, and a Gap entry will say so. The log
// keeps what the entry refers to. A zero Time is set to now; a Time that lies
// before that of an earlier entry is set to that. Where the system's clock was
// set, a note says so, and times do not go back. After Close it does nothing
// and returns 0.
func (l *Log) Append(e session.Entry) session.Seq {
	cost := queue.CostOf(&e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0
	}
	charged, large, room := l.queue.Charge(e.Conn, cost)
	if room && l.lost.Open() {
		l.tellLocked(&l.lost)
	}
	if room {
		l.addLocked(e, charged, large)
		return l.seq
	}
	l.timeLocked(&e)
	l.stampLocked(&e)
	l.lost.Add(&e)
	l.stats.Lost++
	seq := l.seq
	if l.lost.Full() && l.queue.Fair(0, l.lost.Cost()) {
		l.tellLocked(&l.lost) // while it can name the streams
	}
	return seq
}

// addLocked queues an entry, and before it what is to be said of the clock.
func (l *Log) addLocked(e session.Entry, charged int64, large bool) {
	l.timeLocked(&e)
	if note := l.clock.note(); note != nil {
		l.putLocked(session.Entry{Kind: session.KindNote, Side: session.Proxy, Time: e.Time, Note: note}, queue.EntryCost, false)
	}
	l.putLocked(e, charged, large)
}

// putLocked numbers and queues an entry, and sees to it that the writer comes.
func (l *Log) putLocked(e session.Entry, charged int64, large bool) {
	l.stampLocked(&e)
	if len(l.queue.Waiting) == 0 {
		l.timer.Reset(flushAfter)
	}
	l.queue.Put(e, charged, large)
	if l.queue.Bytes > flushBytes && !l.woken {
		l.woken = true
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// tellLocked adds the Gap entries of what was lost, and what ended in them.
func (l *Log) tellLocked(lost *queue.Holes) {
	for _, e := range lost.Close() {
		l.addLocked(e, queue.CostOf(&e), false)
	}
}

// timeLocked gives an entry the time that it has in the recording.
func (l *Log) timeLocked(e *session.Entry) {
	if e.Time.IsZero() {
		if l.o.NoTicks {
			e.Time = l.last // the log's own entries have no time of their own
		}
		if e.Time.IsZero() {
			e.Time = l.o.Now()
		}
	}
	if !l.o.NoTicks {
		at := l.clock.tell(e.Time)
		if !e.Start.IsZero() {
			e.Start = at.Add(e.Start.Sub(e.Time))
		}
		e.Time = at
	}
	if e.Time.Before(l.last) {
		e.Time = l.last
	}
}

// stampLocked gives an entry its number.
func (l *Log) stampLocked(e *session.Entry) {
	l.seq++
	e.Seq = l.seq
	l.last = e.Time
	if e.Kind != session.KindTime {
		l.active = e.Time
	}
}

// now is the wall clock alone: a log outlives the process that could compare
// its monotonic times.
func (l *Log) now() time.Time { return l.o.Now().Round(0).UTC() }

// tickLocked adds a Time entry if the log has been idle long enough, or at the
// end if anything was written at all.
func (l *Log) tickLocked(end bool) {
	if l.o.NoTicks || l.seq == 0 {
		return
	}
	read := l.o.Now()
	now := l.clock.tell(read)
	if end && now.After(l.last) || !end && now.Sub(l.last) >= tickPause(l.last.Sub(l.active)) {
		l.addLocked(session.Entry{Kind: session.KindTime, Side: session.Proxy, Time: read}, queue.EntryCost, false)
	}
}

// rest is what the writer does between batches: it tells of what was dropped,
// should Append not come to do it, and if nothing waits sets the timer for the
// next Time entry.
func (l *Log) rest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost.Open() && l.queue.Charged < l.queue.Limit/2 {
		l.tellLocked(&l.lost)
	}
	switch {
	case len(l.queue.Waiting) > 0: // the timer runs
	case l.o.NoTicks || l.seq == 0:
		l.timer.Stop()
	default:
		l.timer.Reset(tickPause(l.last.Sub(l.active)))
	}
}

// Stats returns the counts as of now.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Queued, s.Last = l.queue.Charged, l.seq
	return s
}

func (l *Log) lastSeq() session.Seq {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Close writes what is queued, ends the recording and waits for the writer. It
// returns an error if the end could not be written.
func (l *Log) Close() error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	<-l.done
	return l.err
}
