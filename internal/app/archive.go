package app

import (
	"context"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/internal/archive"
	"github.com/xdsproxy/xdsproxy/internal/build"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui"
)

// archiveOptions say where the recording is uploaded, as the settings have it; nil:
// nowhere. Where nothing is archived, whoever asked for it is told.
func (h *Host) archiveOptions(archived bool) (*archive.Options, error) {
	if !archived {
		if h.Settings.WantsArchive() {
			h.Warn("nothing is uploaded: --archive is for xdsproxy run")
		}
		return nil, nil
	}
	to, err := h.Settings.Archive()
	if to == nil || err != nil {
		return nil, err
	}
	// A word for people comes on the log, as what fails in a recording does.
	tell := func(text, hint string) {
		if hint != "" {
			text += " (" + hint + ")"
		}
		h.Warn("archive: %s", text)
	}
	store, prefix, err := objects.Open(to.URL, objects.Options{Create: true, Notice: func(text string) { tell(text, "") }})
	if err != nil {
		return nil, console.Failed("cannot use the archive: %w", err).Hint("%s", objects.Hint(err))
	}
	return &archive.Options{
		Store: store, Prefix: prefix, URL: to.URL, Cluster: to.Cluster, Name: to.Name, Program: build.Name(), Hold: to.Hold, Tell: tell,
		Say: func(text string) { h.Say("archive: %s", text) },
	}, nil
}

// announceArchive says where segments go.
func (s *Assembly) announceArchive() {
	if s.Log.archive != nil {
		s.Tell("each finished segment is uploaded to %s", s.Log.archive.Place())
	}
}

// archiveGrace is how long the last segments may take when nothing passes any more.
const archiveGrace = 10 * time.Second

// AwaitArchive uploads the last segments, as far as that is quick, and says what is
// left.
func (s *Assembly) AwaitArchive(impatient context.Context) {
	a := s.Log.archive
	if a == nil {
		return
	}
	a.Close(impatient, archiveGrace)
	st := a.Stats()
	if st.Done > 0 {
		s.Say("uploaded %s, %s, to %s", render.Count(st.Done, "segment", "segments"), render.Size(st.DoneBytes), a.URL())
	}
	if left := st.Pending + st.Failed; left > 0 {
		s.Warn("%s, %s, could not be uploaded and stay on disk; the next run with the same --archive that records into the same directory uploads them",
			render.Count(left, "segment", "segments"), render.Size(st.PendingBytes+st.FailedBytes))
	}
}

// Archive tells the screen what was uploaded; nil if nothing is.
func (r *Recording) Archive() func() tui.Archived {
	if r.archive == nil {
		return nil
	}
	return func() tui.Archived {
		s := r.archive.Stats()
		return tui.Archived{
			Done: s.Done, Pending: s.Pending, Failed: s.Failed, Dropped: s.Dropped,
			DoneBytes: s.DoneBytes, PendingBytes: s.PendingBytes, Oldest: s.Oldest, Stalled: s.Stalled,
		}
	}
}

// archiveCounter is that for metrics.
func (r *Recording) archiveCounter() func() admin.Archive {
	if r.archive == nil {
		return nil
	}
	return func() admin.Archive { return admin.Archive(r.archive.Stats()) }
}
