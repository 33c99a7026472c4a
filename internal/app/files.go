package app

import (
	"errors"
	"io/fs"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/decode/file"
	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/files"
)

// watchFiles begins to watch the files that the settings name.
func (s *Assembly) watchFiles() error {
	dirs, from := s.Settings.Files()
	if len(dirs) == 0 {
		if from != "" {
			return console.Misused("--envoy-bootstrap without --files: which files should be watched?").Hint("--files DIR names the directory that they are in")
		}
		return nil
	}
	o := files.Options{Dirs: dirs, Append: s.Log.Append, NewStream: s.Proxy.NewStream, Said: s.saidOfFiles, Loaded: s.held.wake}
	if from != "" {
		text, err := s.ReadFile(from, bootstrap.MaxSize)
		if err != nil {
			return console.Failed("cannot read the bootstrap: %w", err)
		}
		found, err := bootstrap.FileSources(from, text)
		if err != nil {
			return console.Failed("bootstrap %q: %w", from, err)
		}
		if o.Known = true; len(found) == 0 {
			s.Warn("the bootstrap %q subscribes to no file", from)
		}
		for _, f := range found {
			o.Sources = append(o.Sources, file.Source{Path: f.Path, Directory: f.Directory})
		}
	}
	var err error
	s.files, err = files.Start(o)
	if at, is := errors.AsType[*fs.PathError](err); is {
		return console.Failed("cannot watch the files in %s: %w", at.Path, at.Err).Hint("--files names a directory that is there")
	}
	return err
}

// AnnounceFiles says which files are watched.
func (s *Assembly) AnnounceFiles() {
	dirs, _ := s.Settings.Files()
	for _, dir := range dirs {
		s.Tell("watching %s, recording %s", dir, s.Log.Place())
	}
}

// saidOfFiles tells people of files that are watched.
func (h *Host) saidOfFiles(n *files.News) {
	var fields []zap.Field
	if n.Hint != "" {
		fields = append(fields, zap.String("hint", n.Hint))
	}
	if n.Wrong {
		h.Logger.Warn(n.Text, fields...)
	} else {
		h.Logger.Info(n.Text, fields...)
	}
}
