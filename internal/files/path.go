package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxLinks = 40 // as Linux follows
	maxSteps = 1000
)

// trail is how one gets to a file or directory: each step is a name in a directory
// that is none of a link.
type trail struct {
	steps []step
	real  string // where the trail ends
}

// step is one name on a trail.
type step struct {
	at     string // without links before it
	info   os.FileInfo
	target string // of a link; "" for what is none
	// last says that it stands for the last name of the path, or is what that links to.
	last bool
}

var errLinks = errors.New("too many symbolic links")

// follow goes along an absolute path.
func follow(path string) (t trail, err error) {
	type name struct {
		text string
		last bool
	}
	names := func(path string, last bool) (out []name) {
		for _, n := range strings.Split(filepath.ToSlash(path), "/") {
			if n != "" && n != "." {
				out = append(out, name{n, false})
			}
		}
		if last && len(out) > 0 {
			out[len(out)-1].last = true
		}
		return out
	}
	root := filepath.VolumeName(path) + string(filepath.Separator)
	rest := names(strings.TrimPrefix(path, filepath.VolumeName(path)), true)
	links := 0
	for t.real = root; len(rest) > 0; {
		n := rest[0]
		rest = rest[1:]
		if n.text == ".." {
			t.real = filepath.Dir(t.real)
			continue
		}
		s := step{at: filepath.Join(t.real, n.text), last: n.last}
		if s.info, err = os.Lstat(s.at); err != nil {
			return t, err
		}
		if s.info.Mode()&os.ModeSymlink == 0 {
			t.real = s.at
		} else {
			if s.target, err = os.Readlink(s.at); err != nil {
				return t, err
			}
			if links++; links > maxLinks {
				return t, errLinks
			}
			if filepath.IsAbs(s.target) {
				t.real = root
			}
			rest = append(names(s.target, n.last), rest...)
		}
		if t.steps = append(t.steps, s); len(t.steps) > maxSteps {
			return t, errLinks
		}
	}
	return t, nil
}

// end is the last step, which is what the path leads to.
func (t *trail) end() *step {
	if len(t.steps) == 0 {
		return nil
	}
	return &t.steps[len(t.steps)-1]
}

// same says whether a step leads where it led: to the same file, or by a link of the
// same file.
func (s *step) same(o *step) bool {
	return s.at == o.at && s.target == o.target && os.SameFile(s.info, o.info)
}

// parting is the first step that is another one in the new trail; nil: none is.
func (t *trail) parting(next *trail) *step {
	for i := range next.steps {
		if i >= len(t.steps) || !t.steps[i].same(&next.steps[i]) {
			return &next.steps[i]
		}
	}
	return nil
}

// directories are those in which something may change that the trail depends on: those
// with a link in them, and that with the file.
func (t *trail) directories(visit func(dir string)) {
	for i := range t.steps {
		if s := &t.steps[i]; s.target != "" || i == len(t.steps)-1 {
			visit(filepath.Dir(s.at))
		}
	}
}
