package rewrite

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// settled is how old a file must be for its time to tell of the next change:
// file systems count time in steps, and a file is not always written at once.
const settled = 2 * time.Second

// Source has the values that rules set, for any number of connections at once.
// It takes no lock: two connections that notice a new file both read it.
type Source struct {
	fixed values // of headers from files, what they held at the beginning
	files []*file
	told  func(name, path string, err error)
}

// values are what is set in the headers of one request. They never change.
type values struct {
	authority string
	fields    []session.Field
}

// Load checks rules and reads their files. The error is an *Error.
//
// told is called, from any goroutine, when a file can be read no longer or what
// it holds is no value, with the reason, and with nil when it can be again. In
// between the value stays what it was.
func Load(r *Rules, told func(name, path string, err error)) (*Source, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s := &Source{fixed: values{authority: r.Authority}, told: told}
	for i, h := range r.Headers {
		value := h.Value
		if h.File != "" {
			f := &file{at: i, name: h.Name, path: h.File}
			st := f.read()
			if st.broken != nil {
				return nil, wrong("the file holds the value of the header, and is read again when it changes",
					"header %s cannot be set from %s: %v", h.Name, h.File, st.broken)
			}
			f.state.Store(st)
			s.files = append(s.files, f)
			value = st.value
		}
		s.fixed.fields = append(s.fixed.fields, session.Field{Name: h.Name, Value: value, Secret: h.File != ""})
	}
	return s, nil
}

// now are the values for a request that begins now.
func (s *Source) now() *values {
	if len(s.files) == 0 {
		return &s.fixed
	}
	v := &values{s.fixed.authority, append([]session.Field(nil), s.fixed.fields...)}
	for _, f := range s.files {
		v.fields[f.at].Value = f.value(s.told)
	}
	return v
}

// file is a header whose value a file holds.
type file struct {
	at         int // in the fields
	name, path string
	state      atomic.Pointer[state]
}

// state is what a file was when it was read last.
type state struct {
	info   fs.FileInfo // nil: there was none
	value  string      // the last that was one
	broken error       // why it has no value now
	young  bool        // it may have changed since without looking different
}

// value is what the file holds, read again if it has changed.
func (f *file) value(told func(name, path string, err error)) string {
	old := f.state.Load()
	info, err := os.Stat(f.path)
	if err != nil && old.info == nil || err == nil && old.same(info) {
		return old.value
	}
	next := f.read()
	if next.broken != nil {
		next.value = old.value
	}
	// Of those who have read it at the same time one tells.
	if f.state.CompareAndSwap(old, next) && (next.broken == nil) != (old.broken == nil) && told != nil {
		told(f.name, f.path, next.broken)
	}
	return next.value
}

// same says that a file cannot have changed.
func (s *state) same(info fs.FileInfo) bool {
	return s.info != nil && !s.young && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime())
}

func (f *file) read() *state {
	st := new(state)
	info, err := os.Stat(f.path)
	if err != nil {
		st.broken = reason(err)
		return st
	}
	if st.info = info; !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		st.broken = errors.New("it is not a regular file")
		return st
	}
	st.young = time.Since(info.ModTime()) < settled
	h, err := os.Open(f.path)
	if err != nil {
		st.broken = reason(err)
		return st
	}
	defer h.Close()
	b, err := io.ReadAll(io.LimitReader(h, maxValue+2))
	if err != nil {
		st.broken = reason(err)
		return st
	}
	st.value = strings.TrimRight(string(b), "\r\n")
	if st.value == "" {
		st.broken = errors.New("it is empty")
		return st
	}
	if st.broken = checkValue(f.name, st.value); st.broken != nil {
		return st
	}
	// RFC 9110 11.6.2: there is a scheme before the credentials. The files that
	// platforms write for workloads hold the token alone.
	if f.name == "authorization" && !strings.Contains(st.value, " ") {
		st.value = "Bearer " + st.value
	}
	return st
}

// reason is an error without the path, which is said before.
func reason(err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// apply returns a request's fields as they go on, and where each comes from: an
// index of in, or -1. Both are nil if the fields are those of no request, but
// trailers. host says that the authority is a field called host, as it is in
// HTTP/1.1.
func (v *values) apply(in []session.Field, host bool) (out []session.Field, from []int) {
	if len(in) == 0 || !strings.HasPrefix(in[0].Name, ":") {
		return nil, nil
	}
	out, from = make([]session.Field, 0, len(in)+len(v.fields)+1), make([]int, 0, len(in)+len(v.fields)+1)
	add := func(f session.Field, i int) { out, from = append(out, f), append(from, i) }
	authority := ":authority"
	if host {
		authority = "host"
	}
	done := make([]bool, len(v.fields))
	placed, pseudo := v.authority == "", true
	for i, f := range in {
		if pseudo && !strings.HasPrefix(f.Name, ":") {
			pseudo = false
			if !placed && !has(in, authority) {
				add(session.Field{Name: authority, Value: v.authority}, -1)
				placed = true
			}
		}
		switch k := v.find(f.Name); {
		case v.authority != "" && f.Name == authority:
			if !placed {
				add(session.Field{Name: f.Name, Value: v.authority}, i)
				placed = true
			}
		case v.authority != "" && f.Name == "host": // RFC 9113 8.3.1: the same as :authority
			add(session.Field{Name: f.Name, Value: v.authority}, i)
		case k >= 0:
			if !done[k] {
				add(v.fields[k], i)
				done[k] = true
			}
		default:
			add(f, i)
		}
	}
	if !placed {
		add(session.Field{Name: authority, Value: v.authority}, -1)
	}
	for k, f := range v.fields {
		if !done[k] {
			add(f, -1)
		}
	}
	return out, from
}

func (v *values) find(name string) int {
	for k := range v.fields {
		if v.fields[k].Name == name {
			return k
		}
	}
	return -1
}

func has(fields []session.Field, name string) bool {
	for i := range fields {
		if fields[i].Name == name {
			return true
		}
	}
	return false
}
