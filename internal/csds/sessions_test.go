package csds_test

import (
	"path/filepath"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// Of the sessions of real clients, what the account says that a client accepted is
// told with its content, and nothing beside it has one.
func TestSessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../check/testdata/s[ey]s*/*.xdsp")
	if err != nil || len(files) < 50 {
		t.Fatalf("%v, %d recordings", err, len(files))
	}
	told, rejected := 0, 0
	for _, file := range files {
		v := csds.New(func() (csds.Reader, error) { return recorder.Open(file) })
		k := check.NewChecker(check.Options{Rules: []*check.Rule{}, Past: 1 << 30})
		step := v.Through(k)
		r, err := recorder.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		rest := false
		for e, err := range r.Entries(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			c := step.Step(&e)
			rest = rest || c.Variant == xds.VariantREST
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		v.Over()
		a, err := v.Answer(t.Context(), nil)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		held := map[[3]string]string{}
		for client, types := range k.Holdings() {
			for typ, list := range types {
				for _, h := range list {
					held[[3]string{client, typ, h.Name}] = h.Version
				}
			}
		}
		for _, c := range a.Config {
			for _, g := range c.GenericXdsConfigs {
				key := [3]string{c.Node.Id, xds.ShortType(g.TypeUrl), g.Name}
				version, is := held[key]
				delete(held, key)
				switch {
				case g.XdsConfig == nil && g.VersionInfo == "" && !is:
				case !is && g.ClientStatus != adminv3.ClientResourceStatus_UNKNOWN:
					t.Errorf("%s: %v is %s at %q, and nobody accepted that", file, key, g.ClientStatus, g.VersionInfo)
				case is && g.ClientStatus == adminv3.ClientResourceStatus_UNKNOWN:
				case g.VersionInfo != version || g.XdsConfig == nil && !rest || g.LastUpdated == nil:
					t.Errorf("%s: of %v, accepted at %q, it says %.200v", file, key, version, g)
				default:
					told++
				}
				if g.ErrorState.GetDetails() != "" {
					rejected++
				}
			}
		}
		for key := range held {
			t.Errorf("%s: %v was accepted, and it says nothing of that", file, key)
		}
	}
	if told < 500 || rejected < 5 {
		t.Errorf("%d resources are told, and %d rejections", told, rejected)
	}
}
