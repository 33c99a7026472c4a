package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/filed"
	"github.com/xdsproxy/xdsproxy/check/words"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// watched is what a rule knows of a file.
type watched struct {
	filed.Event             // the last, until its content comes
	told        session.Seq // the content of which it was said that Envoy does not see it
}

func isFile(t *engine.Stream) bool { return t != nil && t.Method.Variant == xds.VariantFile }

func fileUnreadable(x *event) {
	for _, l := range x.change.Loads {
		switch l.Verdict {
		case effect.Rejected:
			why := "; its log says why"
			if l.Why != "" {
				why = ": " + l.Why
			}
			x.proveLoad(&l, Error, "Envoy rejected %s%s", l.Stream.Method.Name, why)
		case effect.Unread:
			x.proveLoad(&l, Error, "Envoy could not read %s", l.Stream.Method.Name)
		}
	}
	if isFile(x.stream) && x.entry.Kind == session.KindMessage && len(x.entry.Problems) > 0 {
		x.proveFile("read", nil, "no DiscoveryResponse: %s", engine.Reason(filed.About(x.stream.Method.Name, x.entry.Problems[0])))
	}
}

// proveLoad proves what a client made of a file.
func (x *event) proveLoad(l *effect.Load, s Severity, format string, args ...any) {
	about := *x
	about.stream, about.sub = l.Stream, l.Sub
	about.provef(proof{severity: s, cause: l.Stream.Method.Path + "\x00" + l.Verdict.String() + l.Why, seqs: []session.Seq{l.Seq, x.seq()}}, format, args...)
}

func (x *event) proveFile(cause string, names []string, format string, args ...any) {
	x.provef(proof{severity: Error, names: names, cause: x.stream.Method.Path + "\x00" + cause}, format, args...)
}

func fileInvalid(x *event) {
	t, n := x.stream, x.resp
	if !isFile(t) {
		return
	}
	name := t.Method.Name
	if len(n.Message.Problems) > 0 {
		x.proveFile("read", nil, "%s is no DiscoveryResponse: %s", name, words.Clip(n.Message.Problems[0]))
	}
	for _, p := range x.entry.Problems {
		x.prove(proof{
			severity: Warning, cause: t.Method.Path + "\x00" + p, typ: xds.ShortType(n.Message.TypeURL),
			message: engine.Reason(filed.About(name, p)),
		})
	}
	typ, twice, mixed := filed.Contents(n.Message)
	if len(mixed) > 0 {
		x.proveFile("types", nil, "%s holds resources of %s and of %s", name, xds.ShortType(typ), words.Clip(xds.ShortType(mixed[0])))
	}
	if len(twice) > 0 {
		x.proveFile("twice", twice, "%s holds %s more than once", name, words.List(twice))
	}
	if xds.ShortType(typ) == "SDS" {
		x.secretsExpected(n)
	}
}

// secretsExpected reports a file of secrets of which none is one that other
// files refer to, while a secret that they refer to is nowhere.
func (x *event) secretsExpected(n *engine.Response) {
	missing := make(map[string]struct{})
	for _, t := range x.k.Streams {
		if !isFile(t) || t == x.stream {
			continue
		}
		for _, s := range t.Order {
			for _, it := range s.Have.All() {
				for _, ref := range it.Refs() {
					if ref.Type == "SDS" && (ref.Source == inspect.SourceOther || ref.Source == inspect.SourceFile) {
						missing[ref.Name] = struct{}{}
					}
				}
			}
		}
	}
	for _, it := range n.Resolved {
		if _, ok := missing[it.Name]; ok {
			return
		}
	}
	for _, t := range x.k.Streams {
		for _, s := range t.Order {
			if t != x.stream && s.Type == "SDS" {
				maps.DeleteFunc(missing, func(name string, _ struct{}) bool { return s.Have.Get(name) != nil })
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(missing))
	x.prove(proof{
		// Which file a reference means is not known.
		severity: Warning, names: names, cause: x.stream.Method.Path + "\x00secret",
		message: fmt.Sprintf("%s holds no secret that is referred to; %s is missing", x.stream.Method.Name, words.List(names)),
	})
}

func noteFileEvent(x *event) {
	for _, l := range x.change.Loads {
		if l.Verdict == effect.Unseen && watchedOf(l.Stream).told != l.Seq {
			x.proveLoad(&l, Warning, "Envoy has not read %s since it changed", l.Stream.Method.Name)
		}
	}
	if isFile(x.stream) && x.entry.Kind == session.KindHeader {
		watchedOf(x.stream).Event = filed.Of(x.entry)
	}
}

func fileNotMoved(x *event) {
	t, n := x.stream, x.resp
	if !isFile(t) {
		return
	}
	w := watchedOf(t)
	was := w.Event
	w.Event = filed.Event{}
	if sent := x.sub.Sent; len(sent) > 1 && sent[len(sent)-2].Sum == n.Sum && sent[len(sent)-2].Version == n.Version {
		w.told = n.Seq // there is nothing to miss
		return
	}
	severity, how := Warning, was.Unseen()
	if how != "" {
		w.told = n.Seq
	} else {
		severity, how = Info, was.Depends()
	}
	if how != "" {
		x.provef(proof{severity: severity, cause: t.Method.Path, seqs: []session.Seq{was.Seq, n.Seq}}, "%s %s", t.Method.Name, how)
	}
}
