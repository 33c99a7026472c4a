package csds_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/csds"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// play is the view of a conversation script that is over.
func play(t *testing.T, text string) *csds.View {
	t.Helper()
	v := stand(t, text)
	v.Over()
	return v
}

// stand is the view of one that goes on.
func stand(t *testing.T, text string) *csds.View {
	t.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	log, err := recorder.NewRing(recorder.Options{NoTicks: true, QueueBytes: math.MaxInt64, Memory: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	v := csds.New(func() (csds.Reader, error) { return log.Reader() })
	step := v.Through(check.NewChecker(check.Options{Rules: []*check.Rule{}}))
	r, err := log.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		step.Step(&e)
	}
	return v
}

// answer is what a view says, a line for each resource.
func answer(t *testing.T, v *csds.View, r *statusv3.ClientStatusRequest) []string {
	t.Helper()
	a, err := v.Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range a.Config {
		out = append(out, "node "+c.Node.GetId())
		for _, g := range c.GenericXdsConfigs {
			line := fmt.Sprint(g.TypeUrl[strings.LastIndexByte(g.TypeUrl, '.')+1:], " ", g.Name, " ", g.ClientStatus, " ", g.ConfigStatus)
			if g.VersionInfo != "" {
				line += " at " + g.VersionInfo
			}
			if g.XdsConfig != nil {
				line += " with content"
				if g.XdsConfig.TypeUrl != g.TypeUrl {
					t.Errorf("%s has a content of type %s", line, g.XdsConfig.TypeUrl)
				}
			}
			// What a client declared it was sent at a time that is not known.
			if (g.LastUpdated == nil) != (g.VersionInfo == "" || g.ConfigStatus == statusv3.ConfigStatus_UNKNOWN) {
				t.Errorf("%s was updated at %v", line, g.LastUpdated)
			}
			if f := g.ErrorState; f != nil {
				line += fmt.Sprintf(", failed at %s: %s", f.VersionInfo, f.Details)
				if f.FailedConfiguration != nil {
					line += ", with content"
				}
				if f.LastUpdateAttempt == nil {
					t.Errorf("%s was tried at no time", line)
				}
			}
			out = append(out, line)
		}
	}
	return out
}

// Each state that the traffic can prove has its words, and what is not known is said
// to be that.
func TestStates(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"accepted", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1,api#1]
C> type=CDS V=1 N=x R=[]`, `
node a
Cluster api ACKED SYNCED at 1 with content
Cluster web ACKED SYNCED at 1 with content`},
		{"asked for and not sent", `
C> type=EDS V= N= R=[web] node=a`, `
node a
ClusterLoadAssignment web REQUESTED NOT_SENT`},
		{"sent and not answered", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]`, `
node a
Cluster web REQUESTED STALE`},
		{"sent anew and not answered", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=1 N=x R=[]
S< type=CDS V=2 N=y res=[web#2]`, `
node a
Cluster web ACKED STALE at 1 with content`},
		{"rejected at first", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V= N=x R=[] err="web: no such policy" code=3`, `
node a
Cluster web NACKED ERROR, failed at 1: web: no such policy, with content`},
		{"rejected after another", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1,api#1]
C> type=CDS V=1 N=x R=[]
S< type=CDS V=2 N=y res=[web#2,api#1]
C> type=CDS V=1 N=y R=[] err="web: no such policy" code=3`, `
node a
Cluster api ACKED SYNCED at 1 with content
Cluster web NACKED ERROR at 1 with content, failed at 2: web: no such policy, with content`},
		{"rejected by one who left", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=1 N=x R=[]
S< type=CDS V=2 N=y res=[web#2]
C> type=CDS V=1 N=y R=[] err="no such policy" code=3
-- client-end
-- tick
-- tick`, `
node a
Cluster web NACKED ERROR at 1 with content, failed at 2: no such policy, with content`},
		{"delta", `
D> type=CDS sub=[web,gone,late] node=a
d< type=CDS N=x res=[web@7#1] rm=[gone]
D> type=CDS N=x
d< type=CDS N=y res=[web@8#2]
D> type=CDS N=y err="no" code=3`, `
node a
Cluster gone DOES_NOT_EXIST NOT_SENT
Cluster late REQUESTED NOT_SENT
Cluster web NACKED ERROR at 7 with content, failed at 8: no, with content`},
		{"asked for by an alias", `
D> type=VHDS sub=[r/a.com,r/b.com] node=a
d< type=VHDS N=x res=[r/one@7#1] alias=[r/a.com]
D> type=VHDS N=x`, `
node a
VirtualHost r/b.com REQUESTED NOT_SENT
VirtualHost r/one ACKED SYNCED at 7 with content`},
		{"declared, and not sent again", `
D> type=CDS sub=[*] init={api:7,web:7} node=a
d< type=CDS N=x res=[web@8#2]
D> type=CDS N=x sub=[]`, `
node a
Cluster api ACKED UNKNOWN at 7
Cluster web ACKED SYNCED at 8 with content`},
		{"left out of all there is", `
C> type=LDS V= N= R=[one,two] node=a
S< type=LDS V=1 N=x res=[one#1]
C> type=LDS V=1 N=x R=[one,two]`, `
node a
Listener one ACKED SYNCED at 1 with content
Listener two DOES_NOT_EXIST NOT_SENT`},
		{"asked for after that", `
C> type=LDS V= N= R=[one] node=a
S< type=LDS V=1 N=x res=[one#1]
C> type=LDS V=1 N=x R=[one]
C> type=LDS V=1 N=x R=[one,two]`, `
node a
Listener one ACKED SYNCED at 1 with content
Listener two REQUESTED NOT_SENT`},
		{"answered unclearly", `
C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=9 N=x R=[]`, `
node a
Cluster web UNKNOWN UNKNOWN`},
		{"several", `
C> type=CDS V= N= R=[] node=b
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=1 N=x R=[]
-- stream 2 method=StreamAggregatedResources peer=10.0.0.2
@2 C> type=CDS V= N= R=[] node=a
@2 S< type=CDS V=2 N=y res=[api#1]
@2 C> type=CDS V=2 N=y R=[]`, `
node a
Cluster api ACKED SYNCED at 2 with content
node b
Cluster web ACKED SYNCED at 1 with content`},
		{"nameless", `
C> type=CDS V= N= R=[]
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=1 N=x R=[]`, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := answer(t, play(t, strings.TrimPrefix(test.text, "\n")), nil)
			if got := "\n" + strings.Join(got, "\n"); strings.TrimSpace(got) != strings.TrimSpace(test.want) {
				t.Errorf("got%s\nwant%s", got, test.want)
			}
		})
	}
}

// Who has left is told of once the session is over, and not while it goes on.
func TestWhoIsThere(t *testing.T) {
	t.Parallel()
	nothing := csds.New(func() (csds.Reader, error) { return nil, errors.New("there is nothing to read") })
	nothing.Ready()
	if got := answer(t, nothing, nil); len(got) > 0 {
		t.Errorf("before anything is read: %q", got)
	}
	v := stand(t, `C> type=CDS V= N= R=[] node=a
-- client-end
-- stream 2 method=StreamAggregatedResources peer=10.0.0.2
C> type=CDS V= N= R=[] node=b
`)
	if _, err := v.Answer(t.Context(), nil); status.Code(err) != codes.Unavailable {
		t.Errorf("before it is ready: %v", err)
	}
	v.Ready()
	if got := answer(t, v, nil); !slices.Equal(got, []string{"node b"}) {
		t.Errorf("while it goes on: %q", got)
	}
	v.Over()
	if got := answer(t, v, nil); !slices.Equal(got, []string{"node a", "node b"}) {
		t.Errorf("when it is over: %q", got)
	}
	v.Client = "a"
	if got := answer(t, v, nil); !slices.Equal(got, []string{"node a"}) {
		t.Errorf("of one: %q", got)
	}
}

// Why the recording cannot be read again is said.
func TestWhyItIsNotReadAgain(t *testing.T) {
	t.Parallel()
	v := play(t, `C> type=CDS V= N= R=[] node=a
`)
	for _, c := range []struct {
		err  error
		code codes.Code
	}{
		{&serve.Error{Kind: serve.Lost, Address: "127.0.0.1:1", Err: io.ErrUnexpectedEOF}, codes.Unavailable},
		{fmt.Errorf("it is not there: %w", &fs.PathError{Op: "open", Path: "a.xdsp", Err: fs.ErrNotExist}), codes.Unavailable},
		{errors.New("it is damaged at byte 7"), codes.DataLoss},
	} {
		v.Open = func() (csds.Reader, error) { return nil, c.err }
		_, err := v.Answer(t.Context(), nil)
		if s, _ := status.FromError(err); s.Code() != c.code || s.Message() != "the recording cannot be read again: "+c.err.Error() {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

// Contents and nodes can be left out of what is asked for.
func TestLessIsAskedFor(t *testing.T) {
	t.Parallel()
	v := play(t, `C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V= N=x R=[] err="no" code=3
`)
	got := answer(t, v, &statusv3.ClientStatusRequest{ExcludeResourceContents: true})
	if want := []string{"node a", "Cluster web NACKED ERROR, failed at 1: no"}; !slices.Equal(got, want) {
		t.Errorf("without contents: %q", got)
	}
	only := &statusv3.ClientStatusRequest{NodeMatchers: []*matcherv3.NodeMatcher{{NodeId: exactly("b")}}}
	if got := answer(t, v, only); len(got) > 0 {
		t.Errorf("of another node: %q", got)
	}
	only.NodeMatchers[0].NodeId = &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Custom{}}
	if _, err := v.Answer(t.Context(), only); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "node_matchers[0].node_id.custom is not supported") {
		t.Errorf("by a matcher of its own: %v", err)
	}
}

// An answer that would be too large is refused, and says what would be less.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	v := play(t, `C> type=CDS V= N= R=[] node=a
S< type=CDS V=1 N=x res=[web#1]
C> type=CDS V=1 N=x R=[]
`)
	bare := &statusv3.ClientStatusRequest{ExcludeResourceContents: true}
	refused := func(r *statusv3.ClientStatusRequest) bool {
		_, err := v.Answer(t.Context(), r)
		if err != nil && (status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "node_matchers")) {
			t.Fatal(err)
		}
		return err != nil
	}
	for v.Most = 1; refused(bare); v.Most++ {
	}
	// What is charged for a resource, its type and its name, and the node as it was sent.
	a, err := v.Answer(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	if want := 160 + len("type.googleapis.com/envoy.config.cluster.v3.Cluster") + len("web") + proto.Size(a.Config[0].Node); v.Most != want || !refused(nil) {
		t.Errorf("%d bytes are enough without contents, not %d, or with them", v.Most, want)
	}
}

func exactly(id string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: id}}
}

// It can be asked while the session goes on, from several sides at once.
func TestAskedWhileItGrows(t *testing.T) {
	t.Parallel()
	const rounds = 300
	text := "C> type=CDS V= N= R=[] node=a\n"
	for i := range rounds {
		text += fmt.Sprintf("S< type=CDS V=%d N=n%d res=[web#%d]\nC> type=CDS V=%d N=n%d R=[]\n", i, i, i, i, i)
	}
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	log, err := recorder.NewRing(recorder.Options{NoTicks: true, QueueBytes: math.MaxInt64, Memory: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	v := csds.New(func() (csds.Reader, error) { return log.Reader() })
	step := v.Through(check.NewChecker(check.Options{Rules: []*check.Rule{}}))
	v.Ready()
	r, err := log.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Follow(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // it may never say so
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for {
			e, err := r.Next(t.Context())
			if err != nil {
				return
			}
			step.Step(&e)
		}
	})
	for range 3 {
		all.Go(func() {
			last := -1
			for last < rounds-1 {
				a, err := v.Answer(ctx, nil)
				if err = cmp.Or(err, ctx.Err()); err != nil {
					t.Error(err)
					return
				}
				if len(a.Config) == 0 || len(a.Config[0].GenericXdsConfigs) == 0 {
					continue
				}
				g := a.Config[0].GenericXdsConfigs[0]
				if g.VersionInfo == "" {
					continue
				}
				at, err := strconv.Atoi(g.VersionInfo)
				if err != nil || at < last || g.XdsConfig == nil {
					t.Errorf("after version %d it says %v", last, g)
					return
				}
				last = at
			}
		})
	}
	for e := range s.Entries() {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
}
