package app

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
)

// logged is what the program's log says of a story of the rules.
func logged(t *testing.T, story, form string) string {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	text, err := os.ReadFile("../../check/testdata/stories/" + story + ".xds")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(story, text)
	if err != nil {
		t.Fatal(err)
	}
	h := silent()
	var out bytes.Buffer
	h.Stderr, h.Settings.LogFormat = &out, form
	rec, err := h.Record("")
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		rec.Append(e)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	h.Logger = NewLogger(h.Console, h.Settings, false)
	(&Assembly{Host: h, Log: rec}).Oversee()
	return out.String()
}

// The log tells one cause of a fleet once, and sums up on which other clients it
// is found. All are counted.
func TestLogOfAFleet(t *testing.T) {
	text := logged(t, "nack-received-fleet-of-one-cause", "text")
	if n := strings.Count(text, ` warn nack-received: version "2-1" `); n != 1 {
		t.Errorf("the first is told %d times:\n%s", n, text)
	}
	if !regexp.MustCompile(`(?m)^\S+ warn nack-received: the same on \d+ more clients: version "2-2" .*"seq": \d+, "clients": \["gw-2", "gw-3", .*\], "type": "CDS"\}$`).MatchString(text) {
		t.Errorf("no sum in\n%s", text)
	}
	sums := regexp.MustCompile(`"clients":\[([^]]*)\]`).FindAllStringSubmatch(logged(t, "nack-received-fleet-of-one-cause", "json"), -1)
	clients := map[string]bool{}
	for _, s := range sums {
		for c := range strings.SplitSeq(s[1], ",") {
			clients[c] = true
		}
	}
	if len(clients) != 19 || len(sums) > 11 {
		t.Errorf("%d more clients in %d sums", len(clients), len(sums))
	}
	many := logged(t, "nack-received-fleet-of-many-causes", "text")
	if n := strings.Count(many, " warn nack-received: version "); n != 20 || strings.Contains(many, "the same on") {
		t.Errorf("%d causes:\n%s", n, many)
	}
}
