// Package archive uploads the finished segments of recordings to a store of objects,
// beside the recorder and never in its way: one goroutine, one upload at a time, from
// the file. It decides nothing about what is recorded, and deletes nothing.
//
// What has to be uploaded is what the disk has, and what has been is what the store
// has: there is no list of either. Beside a recording lies an intent, a small file
// that says where its segments go; it is gone once all of them are there.
package archive

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Options say where to upload to.
type Options struct {
	Store   objects.Store
	Prefix  string // of keys; "" or ending in /
	URL     string // of both, as people gave it
	Cluster string
	Name    string // of this proxy
	Program string // what it is, for the metadata
	// Hold is how many bytes of segments that are not uploaded yet stay when
	// Keep of the recorder would delete them.
	Hold int64
	// Tell is given what people should know, a sentence and perhaps a hint, by the
	// goroutine that uploads, and where the recording begins or moves.
	Tell func(text, hint string)
	// Say is given what is well again; nil: nobody listens.
	Say func(text string)

	// First and Most are the shortest and the longest pause after a failure, Stall
	// how long nothing works until that is told, Look how often others of the same
	// name are looked for; a second, five minutes, an hour and an hour if zero.
	First, Most, Stall, Look time.Duration
}

// Archive uploads what one process records, and what earlier ones have left in the
// same directory. It may be nil, and does nothing then.
type Archive struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	wake   chan struct{} // something may have to be uploaded
	stop   chan struct{} // closed by Close: one more round
	done   chan struct{} // closed when the goroutine is gone
	begun  bool

	mu      sync.Mutex
	current *recording   // of this process
	earlier []*recording // of earlier ones
	busy    *piece       // that is being uploaded
	count   counts
	outage  outage
	told    map[string]bool
	clash   clash
	names   map[string]bool // of recordings of earlier runs, which are ours, too

	deleting bool // --keep has deleted what was not uploaded, and that is to be told
}

// New prepares the upload of the recording that will be at path: it leaves its
// intent there. Start begins.
func New(path string, o Options) (*Archive, error) {
	if o.First <= 0 {
		o.First = time.Second
	}
	if o.Most <= 0 {
		o.Most = 5 * time.Minute
	}
	if o.Stall <= 0 {
		o.Stall = time.Hour
	}
	if o.Look <= 0 {
		o.Look = time.Hour
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	a := &Archive{
		o: o, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		told: make(map[string]bool), names: make(map[string]bool),
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.current = &recording{intent: newIntent(&o, time.Now()), paths: []string{path}, pieces: make(map[string]*piece), live: true}
	// An intent whose recording is gone, all of it, was left when that was deleted.
	alone := len(filesOf(path)) == 0 && !justBegun(path)
	if err := a.current.intent.write(path, !alone); err != nil {
		return nil, fmt.Errorf("cannot note beside the recording where it is to be uploaded: %w", err)
	}
	return a, nil
}

// Start begins to upload. began is when the log says that its recording began.
func (a *Archive) Start(began time.Time) {
	if a == nil {
		return
	}
	a.current.intent.Began = began
	// Without it, a file of somebody else in the place of ours could be taken for ours
	// by a later run; recording and upload go on.
	if err := a.current.intent.write(a.current.paths[0], false); err != nil {
		a.tell(fmt.Sprintf("cannot note when the recording began: %v", err), "")
	}
	a.begun = true
	go a.run()
}

// Discard undoes New where nothing was recorded.
func (a *Archive) Discard() {
	if a == nil {
		return
	}
	a.giveUp()
	a.current.forget()
}

// lastWord is how long an upload that was cancelled may take to end. One at a share that
// does not answer never ends; the process does.
const lastWord = 2 * time.Second

// giveUp cancels what is under way.
func (a *Archive) giveUp() {
	a.cancel()
	if !a.begun {
		return
	}
	select {
	case <-a.done:
	case <-time.After(lastWord):
	}
}

// Rotated says that a segment has ended. It never waits.
func (a *Archive) Rotated() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Moved says that the recording goes on in another file, because somebody took away
// the last.
func (a *Archive) Moved(path string) {
	if a == nil {
		return
	}
	if err := a.current.intent.write(path, true); err != nil {
		a.tell(fmt.Sprintf("cannot note beside %s where it is to be uploaded: %v", path, err), "")
	}
	a.mu.Lock()
	a.current.paths = append(a.current.paths, path)
	a.mu.Unlock()
	a.Rotated()
}

// Spare says which of the segments that are about to be deleted stay: those that wait
// for their upload, the newest first, as far as Hold has room, and the one that is
// being uploaded. It never waits for the store.
func (a *Archive) Spare(old []recorder.Old) (stay []uint64) {
	a.mu.Lock()
	room, lost := a.o.Hold, 0
	for i := len(old) - 1; i >= 0; i-- {
		o := &old[i]
		p := a.current.piece(o.Path, o.Size)
		if p.state == uploaded || p.state == empty {
			continue
		}
		if room -= o.Size; room >= 0 || p == a.busy {
			stay = append(stay, o.Number)
			continue
		}
		if p.state != dropped {
			p.state = dropped
			a.count.dropped++
			lost++
		}
	}
	first := lost > 0 && !a.outage.dropped
	a.outage.dropped = a.outage.dropped || lost > 0
	a.deleting = a.deleting || first
	a.mu.Unlock()
	return stay
}

// tellDeleting says that --keep deletes what is not uploaded. Spare leaves that to the
// goroutine that uploads: who reads our words may be slow.
func (a *Archive) tellDeleting() {
	a.mu.Lock()
	deleting := a.deleting
	a.deleting = false
	a.mu.Unlock()
	switch {
	case deleting && a.o.Hold > 0:
		a.tell("--keep deletes segments that are not uploaded yet: --archive-hold has no room for more", "a larger --archive-hold keeps more of them on disk")
	case deleting:
		a.tell("--keep deletes segments that are not uploaded yet", "--archive-hold 10GiB keeps them until they are, as far as that has room")
	}
}

// rescan is how often the directory is looked at though nobody says that anything
// has changed.
const rescan = 30 * time.Second

func (a *Archive) run() {
	defer close(a.done)
	a.findEarlier()
	wait := a.o.First
	for last := false; ; {
		did := a.Stats().Done
		err := a.round(a.ctx)
		if last || a.ctx.Err() != nil {
			return
		}
		pause := rescan
		if a.Stats().Done > did {
			wait = a.o.First // of a store that fails now and then, nobody has to keep away
		}
		if err != nil {
			// Half of it is by chance, so that those who failed together do not
			// come back together.
			pause = wait/2 + rand.N(wait/2+1)
			wait = min(2*wait, a.o.Most)
		} else {
			wait = a.o.First
		}
		again := time.NewTimer(pause)
	waiting:
		for {
			select {
			case <-a.stop:
				last = true
				break waiting
			case <-a.ctx.Done():
				again.Stop()
				return
			case <-again.C:
				break waiting
			case <-a.wake:
				a.look() // so that counts are right
				if err == nil {
					break waiting
				}
			}
		}
		again.Stop()
	}
}

// round uploads all there is: what is recorded now before what was left, piece for
// piece, as --keep may delete it. It ends with the first failure of the store.
func (a *Archive) round(ctx context.Context) error {
	a.look()
	for {
		select {
		case <-a.wake:
			a.look()
		default:
		}
		r, p := a.next()
		if p == nil {
			a.finish()
			return nil
		}
		if err := a.upload(ctx, r, p); err != nil {
			if ctx.Err() == nil {
				a.failed(p, err)
			}
			return err
		}
	}
}

// Close uploads what is left, each piece with one attempt, until all is there, the
// store fails, grace is over or somebody is impatient. The log has to be closed.
func (a *Archive) Close(impatient context.Context, grace time.Duration) {
	if a == nil || !a.begun {
		return
	}
	a.mu.Lock()
	a.current.live = false
	a.mu.Unlock()
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-a.done:
	case <-impatient.Done():
	case <-timer.C:
	}
	a.giveUp()
	a.look() // what ended while the last attempt was under way is left, too
}

func (a *Archive) tell(text, hint string) {
	if a.o.Tell != nil {
		a.o.Tell(text, hint)
	}
}

// maxTold bounds what is remembered of what was told once. After that many it is told
// from the beginning.
const maxTold = 1000

// tellOnce is tell for what is worth it once, whatever happens between.
func (a *Archive) tellOnce(what, text, hint string) {
	a.mu.Lock()
	again := a.told[what]
	if !again && len(a.told) >= maxTold {
		clear(a.told)
	}
	a.told[what] = true
	a.mu.Unlock()
	if !again {
		a.tell(text, hint)
	}
}

// URL is that of the archive. Segments of earlier runs may have gone to another place
// in it, as they had another name.
func (a *Archive) URL() string { return a.o.URL }

// Place is where segments go, down to the proxy but for the day.
func (a *Archive) Place() string {
	return fmt.Sprintf("%scluster=%s/date=DATE/proxy=%s/", a.o.URL, Escape(a.o.Cluster), Escape(a.o.Name))
}
