package script

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// heldEntry writes what a client says that it holds. What an Envoy says is left out,
// and all that comes after it: it has written contents anew, so that a script, which
// has names for contents, cannot say which of them are those that were sent.
func (w *writer) heldEntry(e *session.Entry) {
	text, is := w.heldText(e)
	if w.anew = w.anew || !is; w.anew {
		w.lost[lostHeld]++
		return
	}
	w.line(e.Time, "", text)
}

func (w *writer) heldText(e *session.Entry) (text string, is bool) {
	h := e.Held
	if h == nil || e.Message != nil && !e.Message.Whole() || h.Failed == "" && e.Message == nil {
		return "", false
	}
	var b strings.Builder
	b.WriteString("-- held node=" + w.pairText(h.Node, "") + w.optional("source", h.Source) + w.optional("at", h.Address) + w.optional("failed", h.Failed))
	if h.Failed != "" {
		return b.String(), true
	}
	if !h.Whole {
		b.WriteString(" changed=true")
	}
	last := ""
	for _, c := range decode.PeekClientStatus(e.Message.Data.Bytes()).Configs {
		for i := range c.Resources {
			r := &c.Resources[i]
			word, state := xds.TypeWord(r.TypeURL), heldState(r)
			if word == "" || state == "" || bytes.Contains(r.Body, []byte("[redacted]")) || r.BodyURL != "" && r.BodyURL != r.TypeURL {
				return "", false
			}
			switch key := word + "/" + state; {
			case key == last:
				b.WriteByte(',')
			case last != "":
				b.WriteByte(']')
				fallthrough
			default:
				b.WriteString(" " + key + "=[")
				last = key
			}
			b.WriteString(w.heldItem(r, e.Message.Masked))
		}
	}
	if last != "" {
		b.WriteByte(']')
	}
	return b.String(), true
}

func (w *writer) heldItem(r *decode.ResourceStatus, masked bool) string {
	x := resourceWriter{w: w, masked: masked, expected: r.TypeURL}
	if r.Body != nil {
		x.r = &decode.Resource{Name: r.Name, TypeURL: r.TypeURL, Version: r.Version, Body: r.Body}
		x.write()
		return x.b.String()
	}
	out := x.name(r.Name)
	if r.Version != "" {
		out += "@" + w.text(r.Version)
	}
	if r.Error != "" {
		out += "#" + strconv.Quote(r.Error)
	}
	return out
}

// heldState is the state in which a client has a resource, in the words of a script;
// "" if these cannot say it.
func heldState(r *decode.ResourceStatus) string {
	content, state := r.Body != nil, r.Held()
	if content != (r.BodyURL != "") || r.Config != "UNKNOWN" || r.Error != "" && r.Client != "NACKED" ||
		!slices.Contains(synth.HeldStates(), state) || content != synth.HasContent(state) {
		return ""
	}
	return string(state)
}
