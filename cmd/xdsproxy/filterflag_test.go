package main

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/filter"
)

func TestCompleteFilter(t *testing.T) {
	for text, want := range map[string]string{
		"ty":                "type:",
		"client:x -KIN":     "client:x -kind:",
		"node.lo":           "node.locality:",
		"dir:":              "dir:req dir:resp",
		"type:cds,sr":       "type:cds,srds",
		"seq:4 -dir:req,re": "seq:4 -dir:req,req seq:4 -dir:req,resp",
		"client:":           "",
		"nothing:":          "",
		"xyz":               "",
	} {
		var got []string
		for _, c := range completeFilter(text) {
			word, _, _ := strings.Cut(c, "\t")
			got = append(got, word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q completes to %q", text, got)
		}
	}
	if all := completeFilter(""); len(all) != len(filter.Keys()) {
		t.Errorf("%q", all)
	}
}
