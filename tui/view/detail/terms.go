package detail

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/tui/view"
)

// terms are those of filters that the selected line is about, and then those of
// the entry.
func (v *View) terms(scr view.Screen) []string {
	var out []string
	if key, value := v.field(); value != "" {
		out = append(out, key+":"+view.Quoted(value))
	}
	if r, ok := scr.Log().Index.BySeq(v.Seq); ok {
		of := view.RowTerms(scr, &r)
		if at := v.Pane.Current(); at >= 0 && v.ready() && (v.Pane.Lines[at].Name == "type_url" || v.Pane.Lines[at].Name == "@type") {
			i := slices.IndexFunc(of, func(t string) bool { return len(t) > 5 && t[:5] == "type:" })
			if i > 0 {
				of[0], of[i] = of[i], of[0]
			}
		}
		out = append(out, of...)
	}
	return out
}

// field is the key of a filter for the selected line, and its value; "" if none
// fits.
func (v *View) field() (key, value string) {
	at := v.Pane.Current()
	if at < 0 || !v.ready() {
		return "", ""
	}
	l := &v.Pane.Lines[at]
	switch l.Name {
	case "resource", "name", "cluster_name", "resource_names":
		return "name", l.Value
	case "version_info", "system_version_info":
		return "version", l.Value
	case "nonce", "response_nonce":
		return "nonce", l.Value
	case "type_url", "@type":
		return "", "" // the entry has the short word
	case "id":
		return "node.id", l.Value
	}
	if v.Form == FormYAML || v.Form == FormJSON {
		return "text", l.Value
	}
	return "", ""
}
