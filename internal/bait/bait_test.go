package bait

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// Each text has a secret of its own, which is found in it, as it is or in base64, and in no
// other.
func TestTexts(t *testing.T) {
	all := Texts("s")
	if len(all) < 100 || len(Harmless()) < 200 {
		t.Fatal(len(all), len(Harmless()))
	}
	encoded := 0
	for i, s := range all {
		if begin := fmt.Sprintf("s%03dA", i); !strings.HasPrefix(s.Secret, begin) || len(s.Secret) < 12 || s.Kind == "" || strings.HasPrefix(s.Kind, "#") {
			t.Errorf("%d: %+v", i, s)
		}
		if strings.ContainsAny(s.Text, "\x00\t\n") || place.MatchString(s.Text) || !s.Holds(s.Text) {
			t.Errorf("%d: %q does not have %s", i, s.Text, s.Secret)
		}
		if !strings.Contains(s.Text, s.Secret) {
			encoded++
		}
		for j := range all {
			if other := all[j].Text; i != j && strings.Contains(other, s.Secret) {
				t.Errorf("%q has %s, too", other, s.Secret)
			}
		}
	}
	if encoded < 5 {
		t.Errorf("%d are in base64", encoded)
	}
	for _, text := range Harmless() {
		if text == "" || strings.HasPrefix(text, "# ") || all[0].Holds(text) {
			t.Errorf("%q", text)
		}
	}
}

// What stands in the file is what becomes of it.
func TestForms(t *testing.T) {
	all := Texts("s")
	find := func(begin string) *Text {
		for i := range all {
			if strings.HasPrefix(all[i].Text, begin) {
				return &all[i]
			}
		}
		t.Fatalf("no text begins with %q", begin)
		return nil
	}
	s := find("proxy-authorization: Basic ")
	want := "proxy-authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("user:"+s.Secret))
	if s.Text != want || s.Kind != "scheme" || len(s.Secret) != 12 {
		t.Errorf("%+v, want %s", s, want)
	}
	s = find(`[{"api_key":"`) // brackets are no sign of base64 in JSON
	if want := `[{"api_key":"` + s.Secret + `"}]`; s.Text != want || s.Kind != "json" || len(s.Secret) != 20 {
		t.Errorf("%+v, want %s", s, want)
	}
	s = find("Authorization: Bearer ")
	if want := fmt.Sprintf("%sZq9x7Kw2Zq9x7Kw", s.Secret[:5]); s.Text != "Authorization: Bearer "+s.Secret || s.Secret != want {
		t.Errorf("%+v, want %s", s, want)
	}
}

// Six letters of a secret are too many, whichever; five are not. In base64 it is found
// wherever it stands.
func TestHolds(t *testing.T) {
	s := Text{Secret: "s001AbcdefGHIJKL"}
	for text, want := range map[string]bool{
		"":                false,
		s.Secret:          true,
		"xs001Abx":        true,
		"xGHIJKLx":        true,
		"xdefGHIx":        true,
		"xs001Axx001Abxx": false,
		"xHIJKLx":         false,
	} {
		if s.Holds(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
	for shift := range 7 {
		plain := strings.Repeat("u", shift) + s.Secret
		if text := "x " + base64.StdEncoding.EncodeToString([]byte(plain)); !s.Holds(text) {
			t.Errorf("%s, which is %s, is not found", text, plain)
		}
	}
	if text := base64.StdEncoding.EncodeToString([]byte("user:" + s.Secret[:5])); s.Holds(text) {
		t.Errorf("%s is found", text)
	}
}
