package premise

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// observed is what is known at the end of a conversation.
func observed(t *testing.T, text string, more ...session.Entry) *Observer {
	t.Helper()
	s, err := script.Parse("script", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := Observe(nil)
	for e := range s.Entries() {
		o.See(&e)
	}
	for i := range more {
		o.See(&more[i])
	}
	return o
}

func TestClient(t *testing.T) {
	const cds, lds = "C> type=CDS V= N= R=[] node=n\n", "C> type=LDS V= N= R=[]\n"
	for _, c := range []struct{ name, script, want string }{
		{"nothing but names, as gRPC asks", "C> type=LDS V= N= R=[a] node=n\nS< type=LDS V=1 N=a res=[a]\n", "ADS GRPC;"},
		{"clusters and listeners", cds + "S< type=CDS V=1 N=a res=[c1]\nC> type=CDS V=1 N=a R=[]\n" + lds, "ADS GRPC; CDS; LDS;"},
		{"delta", "D> type=CDS N= sub=[] node=n\n", "ADS DELTA_GRPC; CDS;"},
		{
			"a route to what nobody sent",
			cds + "S< type=CDS V=1 N=a res=[web]\nC> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{web,lost}]\nC> type=RDS V=1 N=b R=[r]\n",
			"ADS GRPC; CDS; cluster lost;",
		},
		{
			"that was not answered",
			cds + "S< type=CDS V=1 N=a res=[web]\nC> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{lost}]\n",
			"ADS GRPC; CDS; cluster lost;",
		},
		{
			"that was rejected",
			cds + "S< type=CDS V=1 N=a res=[web]\nC> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{lost}]\nC> type=RDS V= N=b R=[r] err=no code=13\n",
			"ADS GRPC; CDS;",
		},
		{
			"that was accepted, and with something else rejected",
			cds + "S< type=CDS V=1 N=a res=[web]\nC> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{lost}]\nC> type=RDS V=1 N=b R=[r]\n" +
				"S< type=RDS V=2 N=c res=[r{lost}#2]\nC> type=RDS V=1 N=c R=[r] err=no code=13\n",
			"ADS GRPC; CDS;",
		},
		{
			"layers, and a cluster with endpoints that is not sent",
			cds + "S< type=CDS V=1 N=a res=[web{eds}]\nC> type=EDS V= N= R=[web,own]\nC> type=RTDS V= N= R=[layer]\n",
			"ADS GRPC; CDS; RTDS layer; EDS own;",
		},
		{
			"a stream a type",
			"-- stream 1 method=DeltaClusters\nD> type=CDS N= sub=[] node=n\nd< type=CDS N=a res=[web@1{eds,src=delta-grpc}]\nD> type=CDS N=a\n" +
				"-- stream 2 method=StreamListeners\nC> type=LDS V= N= R=[] node=n\n",
			"CDS by DELTA_GRPC; LDS by GRPC; cluster xds: the server;",
		},
		{
			"polls",
			"P> path=/v3/discovery:clusters type=CDS V= node=n\np< 200 type=CDS V=1 res=[web{eds,src=rest}]\nP> path=/v3/discovery:clusters type=CDS V=1 node=n\np< 304\n" +
				"P> path=/v3/discovery:endpoints type=EDS V= R=[web] node=n\nP> path=/v3/discovery:endpoints type=EDS V= R=[own] node=n\n",
			"CDS by REST; EDS own by REST; cluster xds: the server;",
		},
		{"a secret that is not referred to", cds + "C> type=SDS V= N= R=[s]\n", `ADS GRPC; CDS; note "s";`},
		{
			"names of authorities",
			"C> type=LDS V= N= R=[\"xdstp://b/envoy.config.listener.v3.Listener/x\",\"xdstp:///y\",\"xdstp://a/z\"] node=n\n",
			"ADS GRPC; authority a; authority b;",
		},
		{
			"collections",
			"D> type=CDS N= sub=[\"xdstp://a/envoy.config.cluster.v3.Cluster/mesh/*?xds.node.id=n\"] node=n\n" +
				"D> type=LDS N= sub=[\"xdstp://a/envoy.config.listener.v3.Listener/one\",\"xdstp://a/envoy.config.listener.v3.Listener/*?a=b\"]\n",
			"ADS DELTA_GRPC; CDS xdstp://a/envoy.config.cluster.v3.Cluster/mesh/*?xds.node.id=n; " +
				"LDS xdstp://a/envoy.config.listener.v3.Listener/*?a=b; authority a; context id;",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			of, v2 := observed(t, c.script).Client("n")
			var b strings.Builder
			if of.ADS != "" {
				fmt.Fprintf(&b, "ADS %s; ", of.ADS)
			}
			for _, a := range of.Asks {
				b.WriteString(strings.TrimSpace(a.Type + " " + strings.Join(a.Names, ",")))
				if a.API != "" {
					fmt.Fprintf(&b, " by %s", a.API)
				}
				b.WriteString("; ")
			}
			for _, k := range of.Clusters {
				b.WriteString("cluster " + k.Name + map[bool]string{true: ": the server"}[k.Server] + "; ")
			}
			for _, a := range of.Authorities {
				b.WriteString("authority " + a + "; ")
			}
			for _, a := range of.Context {
				b.WriteString("context " + a + "; ")
			}
			for _, n := range of.Notes {
				b.WriteString("note " + n[strings.Index(n, `"`):strings.LastIndex(n, `"`)+1] + "; ")
			}
			if got := strings.TrimSpace(b.String()); got != c.want || v2 {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// How a client polls, and how long it waits for an answer, is told by its polls.
func TestREST(t *testing.T) {
	s, err := script.Parse("script", []byte("P> path=/v3/discovery:clusters type=CDS V= node=n\np< 304\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := Observe(nil)
	for e := range s.Entries() {
		if e.Kind == session.KindOpen {
			e.Headers = append(e.Headers, session.Field{Name: expectedTimeout, Value: "2500"})
		}
		o.See(&e)
	}
	of, _ := o.Client("n")
	if of.REST == nil || of.REST.Timeout != 2500*time.Millisecond || !of.REST.HTTP1 || !strings.Contains(string(of.Node), `"n"`) {
		t.Errorf("%+v, node %s", of.REST, of.Node)
	}
}

// Secrets of a stream of their own are missed if the client did not ask for them
// where it was recorded.
func TestUnrecorded(t *testing.T) {
	const cds = "C> type=CDS V= N= R=[] node=n\n"
	for text, want := range map[string]string{
		cds + "S< type=CDS V=1 N=a res=[web{sds=s,src=grpc},api{sds=t,src=delta-grpc}]\n":                                         "s t",
		cds + "S< type=CDS V=1 N=a res=[web{sds=s,src=ads}]\n":                                                                    "",
		cds + "S< type=CDS V=1 N=a res=[web{sds=s,src=grpc}]\n-- stream 2 method=StreamSecrets\nC> type=SDS V= N= R=[s] node=n\n": "",
		cds: "",
	} {
		if got := strings.Join(observed(t, text).Unrecorded("n"), " "); got != want {
			t.Errorf("got %q, want %q of\n%s", got, want, text)
		}
	}
	if got := observed(t, "").Unrecorded("n"); got != nil {
		t.Errorf("of nobody: %q", got)
	}
}

// The node is what a bootstrap says of it; clusters of the bootstrap come from
// the note of wrap.
func TestNodeAndNote(t *testing.T) {
	note := session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: engine.StaticNote([]string{"b", "a"})}
	of, _ := observed(t, "C> type=CDS V= N= R=[] node=n\n", note).Client("n")
	if len(of.Clusters) != 2 || of.Clusters[0].Name != "a" || of.Clusters[0].Server {
		t.Errorf("%+v", of.Clusters)
	}
	if got := string(of.Node); !strings.HasPrefix(got, `{"id":"n"`) || strings.Contains(got, "user_agent") {
		t.Errorf("the node is %s", got)
	}
	if of, _ := observed(t, "").Client("n"); of == nil {
		t.Error("nothing for a client that is not known")
	}
	if _, v2 := observed(t, "-- stream 1 method=v2.StreamAggregatedResources\nC> type=v2.CDS V= N= R=[] node=n\n").Client("n"); !v2 {
		t.Error("v2 is not told")
	}
}

// What is observed goes on unchanged, its end and its errors, too.
func TestNext(t *testing.T) {
	broken := errors.New("broken")
	o := Observe(failing{broken})
	if _, err := o.Next(t.Context()); !errors.Is(err, broken) {
		t.Error(err)
	}
}

type failing struct{ error }

func (f failing) Next(context.Context) (session.Entry, error) { return session.Entry{}, f.error }

// Of a response that refers to nothing no answer is waited for.
func TestWithoutReferences(t *testing.T) {
	for text, want := range map[string]int{
		"C> type=CDS V= N= R=[] node=n\nS< type=CDS V=1 N=a res=[c1]\n":       0,
		"C> type=RDS V= N= R=[r] node=n\nS< type=RDS V=1 N=a res=[r{lost}]\n": 1,
	} {
		for id, k := range observed(t, text).clients {
			if len(k.open) != want {
				t.Errorf("%q waits for answers to %d responses, not %d, after\n%s", id, len(k.open), want, text)
			}
		}
	}
}
