package wrap

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// The proxy takes of the server what the command would have taken, and no other:
// the name that a gRPC client looks for, or what Envoy was told to accept.
func TestInPlaceOf(t *testing.T) {
	authority := xdstest.NewAuthority("root")
	right := authority.Issue(xdstest.Leaf{DNS: []string{"xds.example"}}).Cert
	wrong := authority.Issue(xdstest.Leaf{DNS: []string{"other.example"}}).Cert

	envoy := &bootstrap.TLS{ServerName: "sni.example", Names: []bootstrap.Name{{Kind: bootstrap.DNS, How: bootstrap.Exact, Text: "xds.example"}}}
	up, err := inPlaceOf(&bootstrap.Server{TLS: envoy}, "envoy.yaml", "")
	if err != nil || up.ServerName != "sni.example" || up.Accepts == nil || up.Accepts(right) != nil || up.Accepts(wrong) == nil {
		t.Errorf("for Envoy: %+v, %v", up, err)
	}

	base := filepath.Join(t.TempDir(), "1")
	t.Setenv("XDS_KEY", "key of the environment")
	grpc := &bootstrap.TLS{
		Host: "xds.example", CA: bootstrap.Material{File: "roots.pem"}, Cert: bootstrap.Material{Inline: "certificate"}, Key: bootstrap.Material{Variable: "XDS_KEY"},
	}
	up, err = inPlaceOf(&bootstrap.Server{TLS: grpc}, "grpc.json", base)
	if err != nil || up.ServerName != "xds.example" || up.Accepts != nil || up.CA != "roots.pem" {
		t.Fatalf("for gRPC: %+v, %v", up, err)
	}
	for path, want := range map[string]string{up.Cert: "certificate", up.Key: "key of the environment"} {
		text, err := os.ReadFile(path)
		if info, _ := os.Stat(path); err != nil || string(text) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %q, %v", path, text, err)
		}
	}
}
