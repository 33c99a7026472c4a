package e2e

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// Two control planes that say the same, while both change all the time: no
// difference in a thousand answers.
func TestShadowSame(t *testing.T) {
	long := *minutes > 0
	if !long {
		t.Parallel()
	}
	w := newShadowWorld(t, 25, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	said := w.said(t, 2*len(w.nodes))
	if long {
		for end := time.Now().Add(time.Duration(*minutes * float64(time.Minute))); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			w.push(t, w.live, w.other)
		}
		time.Sleep(2 * time.Second)
	} else {
		for range 21 {
			w.push(t, w.live, w.other)
			said = w.said(t, said+len(w.nodes))
		}
	}
	time.Sleep(time.Second)
	s.agrees(t)
	code, last := s.end(t)
	sum := last.Summary
	t.Logf("%s", last.Text)
	if code != 0 || sum.Answers < 1000 || sum.Compared < 1000 || len(sum.Differences) > 0 || sum.Streams != len(w.nodes) || sum.Skipped+sum.Again > 0 {
		t.Errorf("exit code %d, %+v; want no difference in at least 1000 answers", code, sum)
	}
}

// One cluster that is another is the one that is named, once for all clients, and
// counts no more when the live server has it, too.
func TestShadowOneCluster(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, shadowPer, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--idle", "1m")
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters[3].ConnectTimeout = durationpb.New(7 * time.Second)
		}
	}
	changed := time.Now()
	w.push(t, w.live, w.other)
	e := s.until(t, "difference", 0)
	t.Logf("told %s after the change", e.Time.Sub(changed))
	if e.Type != "CDS" || e.Name != "cluster-3" || !strings.Contains(e.Detail, `connect_timeout: "7s" instead of `) {
		t.Errorf("%+v; want the timeout of cluster-3", e)
	}
	w.alter = func(_ *xdstest.ControlPlane, next *xdstest.World) {
		next.Clusters[3].ConnectTimeout = durationpb.New(7 * time.Second)
	}
	w.push(t, w.live, w.other)
	s.until(t, "settled", 0)
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters = next.Clusters[:5]
		}
	}
	w.push(t, w.live, w.other)
	s.until(t, "difference", 1)
	time.Sleep(time.Second)
	eventually(t, "only one differs", func() bool { return s.count(t, "difference") == s.count(t, "settled")+1 })
	code, last := s.end(t)
	if d := last.Summary.Differences; code != 11 || len(d) != 1 || d[0].Type != "CDS" || d[0].Name != "cluster-5" || !d[0].Stands {
		t.Errorf("exit code %d, %+v; want 11 and cluster-5", code, d)
	}
}

// A control plane that is killed and comes back is told of, and asked for
// everything again.
func TestShadowRestart(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, shadowPer, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	w.other.Stop()
	s.until(t, "trouble", 0)
	w.push(t, w.live, w.other)
	if err := w.other.Start(); err != nil {
		t.Fatal(err)
	}
	s.until(t, "back", 0)
	said := w.said(t, 4*len(w.nodes))
	for range 3 {
		w.push(t, w.live, w.other)
		said = w.said(t, said+len(w.nodes))
	}
	s.agrees(t)
	before := s.count(t, "difference")
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		if by == w.other {
			next.Clusters[1].AltStatName = "another"
		}
	}
	w.push(t, w.live, w.other)
	if e := s.until(t, "difference", before); e.Name != "cluster-1" {
		t.Errorf("%+v; want cluster-1", e)
	}
	code, last := s.end(t)
	if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Again < len(w.nodes) {
		t.Errorf("exit code %d, %+v; want one difference, and all streams asked again", code, sum)
	}
	if n := s.count(t, "trouble"); n > 2 {
		t.Errorf("the trouble is told %d times", n)
	}
}

// What a second instance of the present version says otherwise is noise, field by
// field; what the other version says besides is a difference.
func TestShadowNoise(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	second := shadowPlane(t, xdstest.Options{})
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		for i := range next.Clusters {
			stamp, err := structpb.NewStruct(map[string]any{"made": time.Now().Format(time.RFC3339Nano)})
			if err != nil {
				t.Error(err)
			}
			next.Clusters[i].Metadata = &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"server": stamp}}
		}
		if by == w.other && w.round > 4 {
			next.Clusters[2].LbPolicy = clusterv3.Cluster_RANDOM
		}
	}
	w.push(t, w.live, w.other, second)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--noise", second.Addr(), "--idle", "20s")
	s.until(t, "noise", 0)
	w.push(t, w.live, w.other, second)
	w.push(t, w.live, w.other, second)
	time.Sleep(time.Second)
	if n := s.count(t, "difference"); n > 0 {
		t.Errorf("%d differences before there was one", n)
	}
	w.push(t, w.live, w.other, second)
	e := s.until(t, "difference", 0)
	if e.Name != "cluster-2" || !strings.Contains(e.Detail, "lb_policy") || strings.Contains(e.Detail, "made") {
		t.Errorf("%+v; want the policy of cluster-2, and no more", e)
	}
	code, last := s.end(t)
	if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Noise == 0 || len(sum.Fields) != 1 || !strings.HasPrefix(sum.Fields[0], "CDS metadata.") {
		t.Errorf("exit code %d, %+v; want one difference, and one field of noise", code, sum)
	}
}

// A rejection is repeated to the other control plane for the same content.
func TestShadowRejection(t *testing.T) {
	t.Parallel()
	bad := func(_ *xdstest.ControlPlane, next *xdstest.World) {
		next.Clusters[0] = xdstest.BrokenCluster("cluster-0", xdstest.ADS())
	}
	w := newShadowWorld(t, 1, xdstest.Options{ResendPause: time.Hour}, xdstest.Options{ResendPause: time.Hour})
	w.alter = bad
	w.push(t, w.live, w.other)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.account.Wait(ctx, func(rs []xdstest.Record) bool {
		return slices.ContainsFunc(rs, func(r xdstest.Record) bool { return r.Error != "" && r.TypeURL == resource.ClusterType })
	}); err != nil {
		t.Errorf("the other control plane hears of no rejection")
	}
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences) > 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}

// mute is a control plane that ends every stream so, or never, and says nothing.
func mute(t *testing.T, answer error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		if answer == nil {
			<-ss.Context().Done()
		}
		return answer
	}))
	served := make(chan struct{})
	go func() { defer close(served); _ = g.Serve(l) }()
	t.Cleanup(func() { g.Stop(); <-served })
	return l.Addr().String()
}

// Of more streams than a slow control plane is asked at one time, those whose
// clients leave before their turn are skipped.
func TestShadowSkips(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 40, xdstest.Options{}, xdstest.Options{})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", mute(t, nil), "--idle", "1m")
	s.until(t, "behind", 0)
	w.leave()
	eventually(t, "streams are skipped", func() bool {
		return slices.ContainsFunc(s.events(t), func(e shadowEvent) bool { return strings.Contains(e.Text, "are skipped") })
	})
	time.Sleep(time.Second)
	if _, last := s.end(t); last.Summary.Skipped == 0 || last.Summary.Skipped > 16 || last.Summary.Streams != 80 {
		t.Errorf("%+v; want at most 16 of 80 streams skipped", last.Summary)
	}
}

// Another control plane that refuses, hangs, or speaks another variant is told of
// once, and live clients go on.
func TestShadowTrouble(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	closed := freeAddr(t)
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hangs.Close() })
	for _, c := range []struct {
		addr, want string
		args       []string
	}{
		{closed, "connection refused", nil},
		{closed, "connection refused", []string{"--upstream-authority", "through.a.proxy"}},
		{hangs.Addr().String(), "it hangs", nil},
		{mute(t, nil), "it hangs", nil},
		{mute(t, status.Error(codes.Unimplemented, "unknown method")), "it does not speak", nil},
	} {
		s := startShadow(t, w.proxy.file, append([]string{"--as", "client", "--target", c.addr, "--idle", "1s"}, c.args...)...)
		if e := s.until(t, "trouble", 0); !strings.Contains(e.Text, c.want) {
			t.Errorf("%+v; want %q", e, c.want)
		}
		w.push(t, w.live)
		time.Sleep(1500 * time.Millisecond)
		var texts []string
		for _, e := range s.events(t) {
			if e.Event == "trouble" {
				if slices.Contains(texts, e.Text) {
					t.Errorf("told twice: %s", e.Text)
				}
				texts = append(texts, e.Text)
			}
		}
		if code, last := s.end(t); code != 1 || last.Summary.Compared+len(last.Summary.Differences) > 0 {
			t.Errorf("exit code %d, %+v", code, last.Summary)
		}
	}
}

// A token that is masked in the recording comes from a file.
func TestShadowHeader(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{Admit: func(md metadata.MD) error {
		if got := md.Get("authorization"); len(got) != 1 || got[0] != "Bearer of-the-second" {
			return status.Errorf(codes.Unauthenticated, "authorization is %q", got)
		}
		return nil
	}})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	if e := s.until(t, "trouble", 0); !strings.Contains(e.Text, "Unauthenticated") {
		t.Errorf("%+v; want Unauthenticated", e)
	}
	s.end(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("Bearer of-the-second\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--header-from-file", "authorization="+token)
	s.until(t, "began", 0)
	w.said(t, 2*len(w.nodes))
	time.Sleep(time.Second)
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences) > 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}

// A secret that is masked in the recording is none that the other control plane
// lacks, and is not shown.
func TestShadowSecret(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
	w.alter = func(by *xdstest.ControlPlane, next *xdstest.World) {
		c := xdstest.TLSCluster("cluster-5", "s", xdstest.ADS())
		if by == w.other && w.round > 2 {
			c.AltStatName = "another"
		}
		next.Clusters[5] = c
		next.Secrets = append(next.Secrets, xdstest.FakeSecret("s", 1))
	}
	w.push(t, w.live, w.other)
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := w.account.Wait(ctx, func(rs []xdstest.Record) bool {
		return settled(rs) && slices.ContainsFunc(rs, func(r xdstest.Record) bool { return r.TypeURL == resource.SecretType && r.Side == session.Server })
	}); err != nil {
		t.Fatal("the other control plane is not asked for the secret")
	}
	w.push(t, w.live, w.other)
	if e := s.until(t, "difference", 0); e.Name != "cluster-5" || !strings.Contains(e.Detail, "alt_stat_name") {
		t.Errorf("%+v; want cluster-5", e)
	}
	time.Sleep(time.Second)
	code, last := s.end(t)
	if code != 11 || len(last.Summary.Differences) != 1 {
		t.Errorf("exit code %d, %+v; want cluster-5 alone", code, last.Summary)
	}
	key := string(xdstest.FakeSecret("s", 1).GetTlsCertificate().GetPrivateKey().GetInlineString())
	if key == "" || strings.Contains(s.stdout.String(), strings.TrimSpace(strings.Split(key, "\n")[1])) {
		t.Error("the key is shown")
	}
}

// Of a recording of which only the newest segments are left the shadow begins
// where it is known who asks for what: in the state of the world with the next
// answer, in delta with the next stream.
func TestShadowSegments(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 2, xdstest.Options{}, xdstest.Options{}, "--max-age", "1s", "--keep", "1")
	begun := func() bool {
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(w.proxy.file), "*"))
		return len(files) < 2 || strings.HasSuffix(files[0], "session.000001.xdsp")
	}
	eventually(t, "the first segment is deleted", func() bool {
		w.push(t, w.live, w.other)
		time.Sleep(200 * time.Millisecond)
		return !begun()
	})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr())
	s.until(t, "began", 0)
	for range 20 {
		w.push(t, w.live, w.other)
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
	code, last := s.end(t)
	if sum := last.Summary; code != 0 || len(sum.Differences) > 0 || sum.Compared < 2 {
		t.Errorf("exit code %d, %+v; want no difference for the clients of the state of the world", code, sum)
	}
	unknown := 0
	for _, e := range s.events(t) {
		if strings.Contains(e.Text, "not asked before it is known again") {
			unknown++
		}
	}
	if unknown < 2 {
		t.Errorf("%d times it is said that it is not known what a client wants; want it for both that ask by delta", unknown)
	}
}

// One that is slow is said to be behind, and has no difference for it.
func TestShadowBehind(t *testing.T) {
	t.Parallel()
	w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{Admit: func(metadata.MD) error {
		time.Sleep(2500 * time.Millisecond)
		return nil
	}})
	s := startShadow(t, w.proxy.file, "--as", "client", "--target", w.other.Addr(), "--idle", "1m")
	s.until(t, "behind", 0)
	s.until(t, "caught-up", 0)
	w.said(t, 2*len(w.nodes))
	s.agrees(t)
	if code, last := s.end(t); code != 0 || len(last.Summary.Differences)+last.Summary.Skipped > 0 || last.Summary.Compared == 0 {
		t.Errorf("exit code %d, %+v; want no difference", code, last.Summary)
	}
}
