package main

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// The table that is checked in is the one that the linked types call for.
func TestTableIsCurrent(t *testing.T) {
	want := generate()
	got, err := os.ReadFile("../table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("table.txt is out of date: run go generate ./decode/mask")
	}
	if n := bytes.Count(want, []byte("\n")); n < 1500 {
		t.Errorf("only %d types: are they linked?", n)
	}
}

// A rule that matches nothing is misspelt, or its type is gone.
func TestEveryRuleMatches(t *testing.T) {
	all := descriptors()
	for list, rules := range map[string]names{"secret": secret, "public": public, "jwks": jwks, "loose": loose} {
		used := make([]bool, len(rules))
		for _, md := range all {
			for i := range md.Fields().Len() {
				for j, rule := range rules {
					used[j] = used[j] || names{rule}.match(md.Fields().Get(i).FullName())
				}
			}
		}
		for j, rule := range rules {
			if !used[j] {
				t.Errorf("%s: %q matches no field", list, rule)
			}
		}
	}
	for _, rule := range slices.Concat(namedByHand, unnamed) {
		found := false
		for name := range all {
			found = found || names{rule}.match(protoreflect.FullName(name))
		}
		if !found {
			t.Errorf("%q matches no type", rule)
		}
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"a.b.C", "a.b.D", "2C"},
		{"a.b.C", "x.y.Z", "0a.b.C"},
		{"a.b.C", "a.bc.C", "1b.C"},
		{"a.b.C.D", "a.b.C", "2C.D"},
		{"a.C", "a.C", "1C"},
	} {
		if got := relative(c[0], c[1]); got != c[2] {
			t.Errorf("relative(%q, %q) = %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
