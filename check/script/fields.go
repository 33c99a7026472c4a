package script

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// fields are the words of a line by name. The first error is kept, so that
// reading goes on without asking; done returns it.
type fields struct {
	l    *line
	list []word
	bare []word
	err  error
}

// fields checks the words of a line against the names that its kind knows.
func (l *line) fields(known ...string) *fields {
	f := &fields{l: l}
	for _, w := range l.words {
		switch {
		case w.key == "":
			f.bare = append(f.bare, w)
		case !slices.Contains(known, w.key):
			f.fail(l.fail(w.off, "%s= does not belong to a line with %s", w.key, l.kind).meant(w.key, known))
		case f.get(w.key) != nil:
			f.fail(l.fail(w.off, "%s= stands here twice", w.key))
		default:
			f.list = append(f.list, w)
		}
	}
	return f
}

func (f *fields) fail(err error) {
	if f.err == nil && err != nil {
		f.err = err
	}
}

func (f *fields) get(key string) *word {
	for i := range f.list {
		if f.list[i].key == key {
			return &f.list[i]
		}
	}
	return nil
}

// done returns the first error. At most n words without a name may be there.
func (f *fields) done(n int) error {
	if f.err == nil && len(f.bare) > n {
		w := f.bare[n]
		e := f.l.fail(w.off, "%s has no name", quoteShort(f.l.str(w.value)))
		if strings.HasPrefix(f.l.str(w.value), "#") {
			e = e.hint("a comment stands on a line of its own")
		} else {
			e = e.hint("words are NAME=VALUE; a text with spaces stands in double quotes")
		}
		f.err = e
	}
	return f.err
}

// need fails where a word is missing.
func (f *fields) need(keys ...string) {
	for _, k := range keys {
		if f.get(k) == nil {
			f.fail(f.l.fail(f.l.at, "%s= is missing", k).hint("%s= with nothing behind it stands for an empty one", k))
		}
	}
}

func use[T any](f *fields, key string, read func(span) (T, error)) (v T) {
	w := f.get(key)
	if w == nil {
		return v
	}
	v, err := read(w.value)
	f.fail(err)
	return v
}

func (f *fields) text(key string) string            { return use(f, key, f.l.textOf) }
func (f *fields) names(key string) []string         { return use(f, key, f.l.names) }
func (f *fields) duration(key string) time.Duration { return use(f, key, f.l.duration) }
func (f *fields) boolean(key string) bool           { return use(f, key, f.l.boolean) }
func (f *fields) size(key string) int               { return use(f, key, f.l.bytes) }
func (f *fields) typeURL(key string) string         { return use(f, key, f.l.typeURL) }
func (f *fields) code(key string) int32             { return use(f, key, f.l.code) }
func (f *fields) has(key string) bool               { return f.get(key) != nil }
func (f *fields) number(key string, most int64) (n int64) {
	return use(f, key, func(s span) (int64, error) { return f.l.number(s, most) })
}

// typeURL is what type= says.
func (l *line) typeURL(s span) (string, error) {
	v, err := l.textOf(s)
	if err != nil || s.from < s.to && l.text[s.from] == '"' {
		return v, err
	}
	if url := xds.TypeURL(v); url != "" {
		return url, nil
	}
	switch {
	case v == "" || strings.Contains(v, "/"):
		return v, nil
	case strings.Contains(v, ".") && !strings.HasPrefix(v, "v2.") && !strings.HasPrefix(v, "v3."):
		return xds.TypePrefix + v, nil
	}
	return "", l.fail(s.from, "%s is no resource type", quoteShort(v)).meant(v, xds.ShortTypes())
}

// allFeatures are the client features that a node has where a script does not
// say which.
var allFeatures = []string{
	"envoy.lb.does_not_support_overprovisioning", "envoy.lrs.supports_send_all_clusters",
	"xds.config.resource-in-sotw", "xds.config.supports-resource-in-sotw", "xds.config.supports-resource-ttl",
}

// located reads a list in which loc:NAME stands for the name of a resource
// locator.
func (f *fields) located(key string) (names, locators []string) {
	w := f.get(key)
	if w == nil {
		return nil, nil
	}
	items, err := f.l.items(w.value, '[')
	f.fail(err)
	for _, it := range items {
		list := &names
		if strings.HasPrefix(f.l.str(it), "loc:") {
			it.from += len("loc:")
			list = &locators
		}
		v, err := f.l.textOf(it)
		f.fail(err)
		*list = append(*list, v)
	}
	return names, locators
}

// defaultCode is the code of an error that does not say one: INTERNAL, as
// Envoy's.
const defaultCode = 13

// nodeWords are those that describe a node.
var nodeWords = []string{"node", "ua", "locality", "features"}

// node is the node of a request, or nil. On one stream, what a node said of
// itself before holds until it says something else.
func (f *fields) node() *decode.Node {
	w := f.get("node")
	if w == nil {
		for _, k := range nodeWords[1:] {
			if w := f.get(k); w != nil {
				f.fail(f.l.fail(w.off, "%s= describes a node, and there is none", k).hint("add node=n1"))
			}
		}
		return nil
	}
	n := &decode.Node{ClientFeatures: allFeatures}
	var before *decode.Node
	if s := f.l.stream; s != nil {
		id, _, _ := f.l.pair(w.value)
		before = s.nodes[id]
		defer func() {
			if s.nodes == nil {
				s.nodes = make(map[string]*decode.Node)
			}
			s.nodes[n.ID] = n
		}()
	}
	if before != nil { // what it does not repeat holds
		*n = *before
		n.Cluster = ""
	}
	pair := func(key string, a, b *string) {
		if w := f.get(key); w != nil {
			var err error
			*a, *b, err = f.l.pair(w.value)
			f.fail(err)
		}
	}
	pair("node", &n.ID, &n.Cluster)
	pair("ua", &n.UserAgent, &n.UserAgentVersion)
	pair("locality", &n.Region, &n.Zone)
	if f.has("features") {
		n.ClientFeatures = f.names("features")
	}
	return n
}

// status is error_detail, or nil.
func (f *fields) status() *decode.Error {
	if !f.has("err") && !f.has("code") {
		return nil
	}
	e := &decode.Error{Code: defaultCode, Message: f.text("err")}
	if f.has("code") {
		e.Code = f.code("code")
	}
	return e
}

// resourceErrors is errs=.
func (f *fields) resourceErrors() []decode.ResourceError {
	return use(f, "errs", func(s span) ([]decode.ResourceError, error) { return list(f.l, s, '[', f.l.resourceError) })
}

// resourceError is NAME:CODE, or NAME:CODE="MESSAGE".
func (l *line) resourceError(s span) (e decode.ResourceError, err error) {
	end, err := l.until(s.from, s.to, "=")
	if err == nil && end+1 < s.to && l.text[end+1] == '"' {
		e.Message, err = l.textOf(span{end + 1, s.to})
		s.to = end
	}
	if err != nil {
		return e, err
	}
	name, code, err := l.keyed(s)
	if err == nil {
		e.Name = name
		e.Code, err = l.code(code)
	}
	return e, err
}

// initial is init=.
func (f *fields) initial() []decode.NameVersion {
	return use(f, "init", func(s span) ([]decode.NameVersion, error) { return list(f.l, s, '{', f.l.nameVersion) })
}

func (l *line) nameVersion(s span) (v decode.NameVersion, err error) {
	name, version, err := l.keyed(s)
	if err == nil {
		v.Name = name
		v.Version, err = l.textOf(version)
	}
	return v, err
}
