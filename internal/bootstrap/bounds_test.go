package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A bootstrap may name so many servers, in whatever way it does, and not one more.
func TestServersAreBounded(t *testing.T) {
	listed := func(n int, format string) string { return strings.TrimSuffix(repeat(n, format), ",") }
	for name, text := range map[string]func(n int) string{
		"servers of gRPC": func(n int) string { return `{"xds_servers":[` + listed(n, `{"server_uri":"h%d:1"},`) + `]}` },
		"targets": func(n int) string {
			return `{"dynamic_resources":{"ads_config":{"grpc_services":[` + listed(n, `{"google_grpc":{"target_uri":"h%d:1"}},`) + `]}}}`
		},
		"clusters": func(n int) string {
			return `{"dynamic_resources":{"ads_config":{"cluster_names":[` + listed(n, `"c%d",`) + `]}}}`
		},
		"endpoints": func(n int) string {
			return `{"dynamic_resources":{"ads_config":{"cluster_names":["c"]}},"static_resources":{"clusters":[{"name":"c","load_assignment":{"endpoints":[{"lb_endpoints":[` +
				listed(n, `{"endpoint":{"address":{"socket_address":{"address":"h%d","port_value":1}}}},`) + `]}]}}]}}`
		},
	} {
		if d, err := Parse("x.json", []byte(text(maxServers)), nil); err != nil || len(d.Servers) != maxServers {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Parse("x.json", []byte(text(maxServers+1)), nil); !errors.Is(err, errServers) {
			t.Errorf("%s, one more: %v", name, err)
		}
	}
}

// Of what a server is for so much is kept, whether its uses come one by one or
// several at once, and those of one server are not those of another.
func TestUsesAreBounded(t *testing.T) {
	uses := func(from, n int) (out []Use) {
		for i := range n {
			out = append(out, Use{What: "ADS", Path: fmt.Sprint(from + i)})
		}
		return out
	}
	if n := len(addUse(uses(0, maxUses-1), Use{})); n != maxUses {
		t.Errorf("of %d uses there are %d", maxUses, n)
	}
	if n := len(addUse(uses(0, maxUses), Use{})); n != maxUses {
		t.Errorf("of %d uses there are %d", maxUses+1, n)
	}
	d := &Document{}
	d.add(&Server{Address: "a", Uses: uses(0, maxUses-1)})
	d.add(&Server{Address: "a", Uses: uses(1000, maxUses)})
	if have := d.Servers[0].Uses; len(have) != maxUses || have[maxUses-1].Path != "1000" {
		t.Errorf("of many uses there are %d, the last is %v", len(have), have[len(have)-1])
	}

	d, shared := &Document{}, uses(0, 3) // of a cluster with two endpoints
	d.add(&Server{Address: "b", Uses: shared})
	d.add(&Server{Address: "c", Uses: shared})
	d.add(&Server{Address: "b", Uses: uses(1, 1)})
	d.add(&Server{Address: "c", Uses: uses(2, 1)})
	if b, c := d.Servers[0].Uses, d.Servers[1].Uses; b[3].Path != "1" || c[3].Path != "2" {
		t.Errorf("%v, %v", b, c)
	}
}

// A bootstrap as large as it may be is read, and files are until they are larger.
func TestSizesAreBounded(t *testing.T) {
	for size, want := range map[int]string{MaxSize: "<nil>", MaxSize + 1: "larger than 16 MiB"} {
		if _, err := formatOf("x.yaml", make([]byte, size)); fmt.Sprint(err) != want {
			t.Errorf("of %d bytes: %v", size, err)
		}
	}
	for size, want := range map[int]string{MaxSize: "<nil>", MaxSize + 1: "more than 16 MiB of files"} {
		f := files{size: size, read: func(string) ([]byte, error) { return []byte("a: b"), nil }}
		if _, err := f.tree("x.yaml"); fmt.Sprint(err) != want {
			t.Errorf("after %d bytes of files: %v", size, err)
		}
	}
}
