package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// listsOf are where the lists of a dump are, and the key of a resource in each.
var listsOf = map[string][2]string{
	"active cluster": {"ClustersConfigDump.dynamic_active_clusters", "cluster"}, "warming cluster": {"ClustersConfigDump.dynamic_warming_clusters", "cluster"},
	"static cluster": {"ClustersConfigDump.static_clusters", "cluster"}, "failed cluster": {"ClustersConfigDump.dynamic_active_clusters", ""},
	"endpoints": {"EndpointsConfigDump.dynamic_endpoint_configs", "endpoint_config"}, "static endpoints": {"EndpointsConfigDump.static_endpoint_configs", "endpoint_config"},
	"secret": {"SecretsConfigDump.dynamic_active_secrets", "secret"}, "awaited secret": {"SecretsConfigDump.dynamic_warming_secrets", "awaited"},
	"listener": {"ListenersConfigDump.dynamic_listeners", "active_state"}, "draining listener": {"ListenersConfigDump.dynamic_listeners", "draining_state"},
	"failed listener": {"ListenersConfigDump.dynamic_listeners", ""}, "route": {"RoutesConfigDump.dynamic_route_configs", "route_config"},
}

// dumped is a dump of resources, each as "what: VERSION NAME" with what stands above, and the bodies as
// they were sent.
func dumped(t *testing.T, written map[string]string, held string) *configdump.Dump {
	t.Helper()
	sections := map[string]map[string][]string{}
	for _, one := range strings.Split(held, "; ") {
		what, of, _ := strings.Cut(one, ": ")
		at, is := listsOf[what]
		if !is {
			t.Fatalf("no list of a dump has a %s", what)
		}
		_, name, _ := strings.Cut(of, " ")
		body := written[of]
		entry := fmt.Sprintf(`{"name":%q,%q:%s}`, name, at[1], body)
		switch {
		case of == "":
		case body == "" && at[1] != "awaited":
			t.Fatalf("%q was not sent", of)
		case at[1] == "":
			entry = fmt.Sprintf(`{"name":%q,"error_state":{"failed_configuration":%s,"details":"it is bad"}}`, name, body)
		case at[1] == "awaited":
			entry = fmt.Sprintf(`{"name":%q,"version_info":"uninitialized","secret":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret","name":%q}}`, name, name)
		case strings.HasSuffix(at[1], "_state"):
			entry = fmt.Sprintf(`{"name":%q,%q:{"listener":%s}}`, name, at[1], body)
		}
		section, list, _ := strings.Cut(at[0], ".")
		if sections[section] == nil {
			sections[section] = map[string][]string{}
		}
		if sections[section][list] = append(sections[section][list], entry); of == "" {
			sections[section][list] = nil // the section is there, and empty
		}
	}
	var configs []string
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		text := fmt.Sprintf(`{"@type":"type.googleapis.com/envoy.admin.v3.%s"`, section)
		for _, list := range slices.Sorted(maps.Keys(sections[section])) {
			text += fmt.Sprintf(`,%q:[%s]`, list, strings.Join(sections[section][list], ","))
		}
		configs = append(configs, text+"}")
	}
	d, err := configdump.Read([]byte(`{"configs":[` + strings.Join(configs, ",") + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// All that is said of conversations and dumps of every kind.
func TestLedger(t *testing.T) {
	const (
		begin = "C> type=CDS V= N= R=[] node=gw-0\n"
		one   = begin + "S< type=CDS V=1 N=a res=[web{eds},api{eds}]\nC> type=CDS V=1 N=a R=[]\n"
		two   = one + "S< type=CDS V=2 N=b res=[web#2{eds},api{eds}]\n"
		ack2  = "C> type=CDS V=2 N=b R=[]\n"
		nack2 = "C> type=CDS V=1 N=b R=[] err=\"no\" code=13\n"
		eds   = one + "C> type=EDS V= N= R=[web,api]\nS< type=EDS V=e1 N=e res=[web#1,api#1]\nC> type=EDS V=e1 N=e R=[web,api]\n"
		sds   = "C> type=SDS V= N= R=[cert,key] node=gw-0\nS< type=SDS V=1 N=a res=[cert]\nC> type=SDS V=1 N=a R=[cert,key]\n"
		lds   = "C> type=LDS V= N= R=[] node=gw-0\nS< type=LDS V=1 N=a res=[in{rds=r},out]\nC> type=LDS V=1 N=a R=[]\n"
		rds   = lds + "C> type=RDS V= N= R=[r] \nS< type=RDS V=1 N=r res=[r{c1}]\nC> type=RDS V=1 N=r R=[r]\n"
		gone  = "-- disconnect by=client\n"
		gap   = "# and a gap\n"
	)
	var out strings.Builder
	for _, c := range []struct{ text, held string }{
		{one, "active cluster: 1 web; active cluster: 1 api"},
		{one, "active cluster: 1 web; failed cluster: 1 api"},
		{one, "active cluster: 1 web; static cluster: 1 api"},
		{one, "active cluster: "},
		{two + ack2, "active cluster: 1 web; active cluster: 1 api"},
		{two + ack2, "active cluster: 1 web; warming cluster: 2 web; active cluster: 2 api"},
		{two + ack2, "active cluster: 2 web; warming cluster: 1 web; active cluster: 2 api"},
		{two + ack2, "warming cluster: 1 web; warming cluster: 2 api"},
		{two + ack2 + gap, "active cluster: 1 web"},
		{two, "active cluster: 2 web; warming cluster: 1 api"},
		{two + nack2, "active cluster: 2 web; failed cluster: 2 web; active cluster: 1 api"},
		{two + nack2 + "S< type=CDS V=3 N=c res=[web#3{eds},api{eds}]\n", "active cluster: 2 web; active cluster: 1 api"},
		{begin + "S< type=CDS V=1 N=a res=[web]\n", "active cluster: 1 web"},
		{begin + "S< type=CDS V=1 N=a res=[web]\n", "active cluster: "},
		{begin + "S< type=CDS V=1 N=a res=[web,api]\nC> type=CDS V= N=a R=[] err=\"no\" code=13\n", "active cluster: 1 web; failed cluster: 1 api"},
		{begin + "S< type=CDS V=1 N=a res=[web]\nC> type=CDS V= N=a R=[] err=\"no\" code=13\nS< type=CDS V=2 N=b res=[web#2]\nC> type=CDS V= N=b R=[] err=\"no\" code=13\n", "active cluster: 1 web"},
		{begin + "S< type=CDS V=1 N=a res=[web,web2]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[web]\nC> type=CDS V=2 N=b R=[]\n", "active cluster: 1 web; active cluster: 1 web2"},
		{begin + "S< type=CDS V=1 N=a res=[web,web2]\nC> type=CDS V=1 N=a R=[]\nS< type=CDS V=2 N=b res=[web]\n", "active cluster: 1 web; active cluster: 1 web2"},
		{one + gone, "active cluster: 1 web"},
		{two + gone, "active cluster: 2 web; active cluster: 1 api"},
		{eds, "active cluster: 1 web; active cluster: 1 api; endpoints: e1 web; endpoints: e1 api"},
		{eds, "active cluster: 1 web; warming cluster: 1 api; endpoints: e1 web"},
		{eds, "active cluster: 1 web; active cluster: 1 api; static endpoints: e1 web"},
		{eds + "C> type=EDS V=e1 N=e R=[web]\n", "active cluster: 1 web; endpoints: e1 web; endpoints: e1 api"},
		{eds + gone, "endpoints: e1 web"},
		{sds, "secret: 1 cert; awaited secret: 1 key"},
		{sds, "awaited secret: 1 cert; awaited secret: 1 key"},
		{sds, "active cluster: "},
		{lds, "listener: 1 in; draining listener: 1 out"},
		{lds, "failed listener: 1 in; listener: 1 out"},
		{lds + "S< type=LDS V=2 N=b res=[in{rds=r}]\nC> type=LDS V=2 N=b R=[]\n", "listener: 1 in; listener: 1 out"},
		{rds + "C> type=RDS V=1 N=r R=[]\n", "listener: 1 in; listener: 1 out; route: 1 r"},
		{rds, "listener: 1 in; listener: 1 out; route: 1 r"},
		{rds + gone, "listener: 1 in; route: 1 r"},
		{rds + "-- stream 2\nC> type=CDS V= N= R=[] node=gw-0\n", "listener: 1 in; route: 1 r"},
		{strings.ReplaceAll(rds, "gw-0", "gw-1") + "-- stream 2\nC> type=EDS V= N= R=[x] node=gw-0\n" + "# of another client\n", "listener: 1 in; route: 1 r"},
	} {
		of, written := story(t, c.text)
		r, err := of.With(dumped(t, written, c.held))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%sheld are %s\n", c.text, c.held)
		for i := range r.Items {
			it := &r.Items[i]
			fmt.Fprintf(&out, "= %s %s %s", it.Type, it.Name, it.State)
			if it.State.Difference() {
				out.WriteString(", a difference")
			}
			if it.Why != "" {
				fmt.Fprintf(&out, " (%s)", it.Why)
			}
			entry := uint64(0) // for nothing
			if it.Accepted != nil {
				entry = uint64(it.Accepted.Seq)
			}
			fmt.Fprintf(&out, ", accepted by entry %d", entry)
			if it.Held != nil {
				fmt.Fprintf(&out, ", held as %s", it.Held.State)
			}
			if it.Changes != nil {
				fmt.Fprintf(&out, ", changes %v", it.Changes.Count)
			}
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "= the same are %v, elsewhere %v, not dumped %v; it differs: %v\n\n", r.Same, r.Elsewhere, r.NotDumped, r.Differs())
	}
	golden.Is(t, "testdata/ledger.golden", out.String())
}
