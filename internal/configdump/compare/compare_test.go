package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// story follows a conversation, and keeps what it carries as a dump writes it: by
// version and name, such as "1 web".
func story(t *testing.T, text string) (*Session, map[string]string) {
	t.Helper()
	s, err := script.Parse("story", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k := engine.New(engine.Options{Past: 1 << 20})
	sent, bodies, written := map[Name]bool{}, map[string]*decode.Resource{}, map[string]string{}
	at := func(seq session.Seq, name string) string { return fmt.Sprint(seq, " ", name) }
	for e := range s.Entries() {
		if e.Seq == 0 {
			t.Fatal("an entry has no number")
		}
		c := k.Step(&e)
		if c.Message == nil || !c.Message.Response() {
			continue
		}
		for i := range c.Message.Resources {
			r := &c.Message.Resources[i]
			sent[Name{c.Type, r.Name}] = true
			bodies[at(e.Seq, r.Name)] = r
			written[c.Message.Version+" "+r.Name] = string(r.Decode().JSON())
		}
	}
	if strings.HasSuffix(text, "# and a gap\n") {
		k.Step(&session.Entry{Seq: 1000, Kind: session.KindGap, Gap: &session.Gap{First: 999, Last: 999, Entries: 1, Streams: []session.StreamID{1}}})
	}
	return &Session{Engine: k, Client: "gw-0", Sent: sent, Bodies: func(needs []engine.Held) (map[engine.Held]*decode.Resource, error) {
		out := map[engine.Held]*decode.Resource{}
		for _, h := range needs {
			out[h] = bodies[at(h.Seq, h.Name)]
		}
		return out, nil
	}}, written
}

// dump writes clusters as an Envoy does: each a state and what it is in.
func dump(t *testing.T, clusters ...string) *configdump.Dump {
	t.Helper()
	lists := map[string][]string{}
	for i := 0; i < len(clusters); i += 2 {
		lists[clusters[i]] = append(lists[clusters[i]], `{"cluster":`+clusters[i+1]+`}`)
	}
	text := `{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump"`
	for name, list := range lists {
		text += fmt.Sprintf(`,"%s_clusters":[%s]`, name, strings.Join(list, ","))
	}
	d, err := configdump.Read([]byte(text + "}]}"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWith(t *testing.T) {
	const (
		active, warming, static = "dynamic_active", "dynamic_warming", "static"

		lost  = "# and a gap\n"
		begin = "C> type=CDS V= N= R=[] node=gw-0\n"
		one   = begin + "S< type=CDS V=1 N=a res=[web,api]\nC> type=CDS V=1 N=a R=[]\n"
		two   = one + "S< type=CDS V=2 N=b res=[web#2,api]\n"
	)
	for name, c := range map[string]struct {
		text string
		held []string // what is in V of the name
		want []string
	}{
		"all held":          {one, []string{active, "1 web", active, "1 api"}, nil},
		"not held":          {one, []string{active, "1 web"}, []string{"api not-held"}},
		"a static one":      {one, []string{active, "1 web", static, "1 api"}, []string{"api not-held"}},
		"another content":   {two + "C> type=CDS V=2 N=b R=[]", []string{active, "1 web", active, "1 api"}, []string{"web differs"}},
		"warming":           {one, []string{active, "1 web", warming, "1 api"}, []string{"api warming"}},
		"the next warms":    {two + "C> type=CDS V=2 N=b R=[]", []string{active, "1 web", warming, "2 web", active, "1 api"}, []string{"web warming"}},
		"not answered":      {two, []string{active, "1 web", active, "1 api"}, nil},
		"held, unanswered":  {two, []string{active, "2 web", active, "1 api"}, []string{"web unknown"}},
		"rejected":          {two + `C> type=CDS V=1 N=b R=[] err="no" code=13`, []string{active, "1 web", active, "1 api"}, nil},
		"rejected, held":    {two + `C> type=CDS V=1 N=b R=[] err="no" code=13`, []string{active, "2 web", active, "1 api"}, []string{"web partial"}},
		"all rejected":      {begin + "S< type=CDS V=1 N=a res=[web]\n" + `C> type=CDS V= N=a R=[] err="no" code=13`, nil, []string{"web rejected"}},
		"taken back":        {one + "S< type=CDS V=2 N=b res=[web]\nC> type=CDS V=2 N=b R=[]", []string{active, "1 web", active, "1 api"}, []string{"api removed"}},
		"taken back, asked": {one + "S< type=CDS V=2 N=b res=[web]\n", []string{active, "1 web"}, nil},
		"part not seen":     {one + lost, []string{active, "1 web"}, []string{"web unknown"}},
	} {
		of, written := story(t, c.text)
		var clusters []string
		for i := 0; i < len(c.held); i += 2 {
			clusters = append(clusters, c.held[i], written[c.held[i+1]])
		}
		r, err := of.With(dump(t, clusters...))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		differs := false
		for _, it := range r.Items {
			got = append(got, it.Name+" "+string(it.State))
			differs = differs || it.State.Difference()
		}
		if !slices.Equal(got, c.want) || r.Differs() != differs {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Of a type that the dump does not have, or that the client did not ask for in the
// session, nothing is said.
func TestWithOtherTypes(t *testing.T) {
	of, _ := story(t, "C> type=LDS V= N= R=[] node=gw-0\nS< type=LDS V=1 N=a res=[in]\nC> type=LDS V=1 N=a R=[]\n")
	r, err := of.With(dump(t, "dynamic_active", `{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"web"}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Items) > 0 || r.Elsewhere["CDS"] != 1 || !slices.Equal(r.NotDumped, []string{"LDS"}) {
		t.Errorf("%+v", r)
	}
}
