package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the screen says of what is in effect is what status and tree say, as people
// and as scripts read them. Where nobody says so, no column claims it.
func TestScreenAgreesOnEffect(t *testing.T) {
	t.Parallel()
	file := filepath.Join(sessionsDir, "envoy-sotw-held.xdsp")
	var status struct {
		Clients []struct {
			Client string
			Types  []struct{ Type, Effective string }
		}
	}
	decodeJSON(t, runProgram(t, "status", file, "-o", "json"), &status)
	if len(status.Clients) != 1 {
		t.Fatalf("%d clients", len(status.Clients))
	}
	overall := "yes"
	for _, typ := range status.Clients[0].Types {
		if typ.Effective == "no" {
			overall = "no " + typ.Type
		}
	}
	if overall != "no LDS" || !strings.Contains(string(runProgram(t, "status", file)), "  "+overall+" ") {
		t.Errorf("status says %q as JSON, and as text\n%s", overall, runProgram(t, "status", file))
	}

	type node struct {
		Type, Name, Effective string
		Effect                struct{ State string }
		Children              []node
	}
	var tree struct{ Resources, Dangling []node }
	decodeJSON(t, runProgram(t, "tree", file, "-o", "json"), &tree)
	want := map[string]string{}
	var walk func(all []node)
	walk = func(all []node) {
		for _, n := range all {
			word := map[string]string{"yes": "yes", "no": n.Effect.State, "unknown": "-"}[n.Effective]
			want[n.Type+" "+n.Name] = word
			walk(n.Children)
		}
	}
	walk(tree.Resources)
	walk(tree.Dangling)
	if want["LDS inner"] != "warming" || want["LDS ingress"] != "yes" || want["RDS inner-routes"] != "-" {
		t.Errorf("tree says %v", want)
	}
	row := regexp.MustCompile(`([LRCES]DS)  (\S+) +(?:[A-Z]{4,}) +(\S+)`)
	said := func(text string) map[string]string {
		out := map[string]string{}
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			out[m[1]+" "+m[2]] = m[3]
		}
		return out
	}
	if got := said(string(runProgram(t, "tree", file))); !maps.Equal(got, want) {
		t.Errorf("tree says as text %v, as JSON %v", got, want)
	}
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p := newPane(t, size[0], size[1], "open", file)
			p.shows("[")
			p.press("1")
			p.shows("[1 Clients]", " EFFECT ", " "+overall+" ")
			p.press("r")
			p.shows("[3 Resources]", " EFFECT ", "inner-routes")
			got := map[string]string{}
			p.pages(func(screen string) { maps.Copy(got, said(screen)) })
			if !maps.Equal(got, want) {
				t.Errorf("the screen says %v, tree %v:\n%s", got, want, p.screen())
			}
		})
	}

	silent := filepath.Join(sessionsDir, "demo.xdsp")
	if text := runProgram(t, "status", silent); strings.Contains(string(text), "EFFECT") {
		t.Errorf("nobody was asked, and status says\n%s", text)
	}
	decodeJSON(t, runProgram(t, "status", silent, "-o", "json"), &status)
	for _, c := range status.Clients {
		if i := slices.IndexFunc(c.Types, func(s struct{ Type, Effective string }) bool { return s.Effective != "unknown" }); i >= 0 {
			t.Errorf("nobody was asked, and %+v is told", c.Types[i])
		}
	}
}
