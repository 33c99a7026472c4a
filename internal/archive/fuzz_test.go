package archive

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzIntent reads what somebody has left beside a recording: what is taken makes
// keys that stay in their folder.
func FuzzIntent(f *testing.F) {
	good := newIntent(&Options{URL: "s3://b/", Cluster: "c", Name: "p"}, longAgo)
	text, err := json.Marshal(&good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"archive":"s3://b/","cluster":"../..","proxy":"\u0000","recording":"../../../etc"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		i, err := parseIntent(text)
		if err != nil {
			return
		}
		a := &Archive{o: Options{Prefix: "p/"}}
		folder := a.folder(&recording{intent: i}, longAgo)
		if strings.Count(folder, "/") != 4 || strings.Contains(folder, "..") && !strings.Contains(i.Cluster+i.Proxy, "..") || strings.ContainsFunc(folder+i.Recording, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q goes to %q", text, folder)
		}
		for part := range strings.SplitSeq(folder+i.Recording, "/") {
			if part == "" || part == "." || part == ".." {
				t.Errorf("%q goes to %q", text, folder)
			}
		}
	})
}
