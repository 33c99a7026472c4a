package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// countersOf are those of an Envoy, as name=value, in a ClientStatusResponse.
func countersOf(t *testing.T, list string) []byte {
	t.Helper()
	field := func(num protowire.Number, b string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), b))
	}
	const url = xds.AdminPrefix + "v3.SimpleMetric"
	var config string
	for _, one := range strings.Fields(list) {
		var n uint64
		name, value, _ := strings.Cut(one, "=")
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatal(err)
		}
		body := string(protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), n))
		config += field(3, field(1, url)+field(2, "cluster_manager.cds."+name)+field(4, field(1, url)+field(2, body)))
	}
	return []byte(field(1, config))
}

// What an Envoy made of a file is told by its counters: that it rejected it, with its
// reason where it says one, that it could not read it, and that it has not looked at it.
// Of a change that no Envoy would see that was said before.
func TestFilesThatAreNotTaken(t *testing.T) {
	const before = "F: rename cds.yaml type=CDS V=1 res=[c1]\nt=+5s -- held node=n1 CDS/active=[c1]\nt=+5s "
	const moved, written = before + "F: rename cds.yaml type=CDS V=2 res=[c1#2]\nt=+%s ", before + "F: swap ..data cds.yaml watched=file seen=no type=CDS V=2 res=[c1#2]\nt=+%s "
	const active, first = "-- held node=n1 CDS/active=[c1]", "update_attempt=1 update_success=1"
	is := func(format, wait, held string) string { return fmt.Sprintf(format, wait) + held }
	for name, c := range map[string]struct {
		text   string
		counts string // what the client says last
		want   []string
	}{
		"taken":           {is(moved, "5s", active), "update_attempt=2 update_success=2", nil},
		"rejected":        {is(moved, "5s", active), "update_attempt=2 update_success=1 update_rejected=1", []string{"file-invalid error: Envoy rejected cds.yaml; its log says why"}},
		"rejected, why":   {is(moved, "5s", `-- held node=n1 CDS/error=[c1#"no room"] CDS/active=[c1]`), "update_attempt=2 update_success=1 update_rejected=1", []string{"file-invalid error: Envoy rejected cds.yaml: no room"}},
		"not readable":    {is(moved, "5s", active), "update_attempt=2 update_success=1 update_failure=1", []string{"file-invalid error: Envoy could not read cds.yaml"}},
		"not read yet":    {is(moved, "1999ms", active), first, nil},
		"not read":        {is(moved, "2s", active), first, []string{"file-not-moved warning: Envoy has not read cds.yaml since it changed"}},
		"not seen at all": {is(written, "5s", active), first, []string{"file-not-moved warning: cds.yaml "}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := script.Parse("test", []byte(c.text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			k, counts := check.NewChecker(check.Options{Rules: everyRule(t)}), []string{first, c.counts}
			for e := range s.Entries() {
				if e.Kind == session.KindHeld {
					e.Message.Data = append(slices.Clone(e.Message.Data), countersOf(t, counts[0]))
					counts = counts[1:]
				}
				k.Step(&e)
			}
			var got []string
			for _, f := range k.Findings() {
				if strings.HasPrefix(f.Rule.ID, "file-") {
					got = append(got, fmt.Sprintf("%s %s: %s", f.Rule.ID, f.Severity, f.Message))
				}
			}
			if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// A removal names no variant: where a response has one of a name, the name may be removed
// in another. What has no variants is not both there and removed.
func TestAddedAndRemovedVariants(t *testing.T) {
	for resources, want := range map[string]string{
		"c1@1":                         `[c1] "c1" is among the resources and among the removed ones`,
		"c1@1(variant=x)":              "",
		"c1@1(variant=x),c2@1":         `[c2] "c2" is among the resources and among the removed ones`,
		"c1@1,c2@1(variant=x),c3@1":    `[c1 c3] "c1", "c3" is among the resources and among the removed ones`,
		"c4@1":                         "",
		"c1@1,c4@1(variant=x)":         `[c1] "c1" is among the resources and among the removed ones`,
		"c1@1(variant=x),c1@2":         "",
		"c1@1,c2@1,c3@1":               `[c1 c2 c3] "c1", "c2", "c3" is among the resources and among the removed ones`,
		"hb:c1,c2@1":                   `[c2 c1] "c2", "c1" is among the resources and among the removed ones`,
		"hb:c4,c5@1(variant=x)":        "",
		"c1@1(variant=x),c2@1,hb:c3@7": `[c2 c3] "c2", "c3" is among the resources and among the removed ones`,
	} {
		s, err := script.Parse("test", []byte("D> type=CDS N= sub=[*] node=n1\nd< type=CDS N=a res=["+resources+"] rm=[c1,c2,c3]\n"))
		if err != nil {
			t.Fatal(err)
		}
		k, got := check.NewChecker(check.Options{Rules: everyRule(t)}), ""
		for e := range s.Entries() {
			k.Step(&e)
		}
		for _, f := range k.Findings() {
			if f.Rule.ID == "delta-added-and-removed" {
				got += fmt.Sprint(f.Names) + " " + f.Message
			}
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", resources, got, want)
		}
	}
}
