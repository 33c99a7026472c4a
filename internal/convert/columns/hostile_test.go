package columns

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// conversation is one of a client that is asked nothing twice: a request and responses
// with the given clusters, each of which it accepts.
func conversation(t testing.TB, path string, at time.Time, node string, responses [][][2]string) {
	t.Helper()
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, Masked: true, QueueBytes: 1 << 30, SyncEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte, num protowire.Number, v string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
	}
	add := func(e session.Entry) {
		e.Conn, e.Time = 1, at
		log.Append(e)
		at = at.Add(time.Millisecond)
	}
	say := func(side session.Side, data []byte) {
		add(session.Entry{Stream: 1, Side: side, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))}})
	}
	add(session.Entry{Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: node, Listen: "l", Upstream: "u"}})
	add(session.Entry{
		Stream: 1, Side: session.Client, Kind: session.KindOpen, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
		Headers: []session.Field{{Name: ":path", Value: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"}, {Name: "content-type", Value: "application/grpc"}},
	})
	request := func(version, nonce string) []byte {
		return put(put(put(put(nil, 1, version), 2, string(put(nil, 1, node))), 4, clusterURL), 5, nonce)
	}
	say(session.Client, request("", ""))
	for i, clusters := range responses {
		version := fmt.Sprint(i + 1)
		var b []byte
		b = put(b, 1, version)
		for _, c := range clusters {
			b = put(b, 2, string(put(put(nil, 1, clusterURL), 2, string(put(nil, 1, c[0]))+c[1])))
		}
		say(session.Server, put(put(b, 4, clusterURL), 5, "n"+version))
		say(session.Client, request(version, "n"+version))
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// altStat is a field of a cluster that makes it another content.
func altStat(s string) string {
	return string(protowire.AppendString(protowire.AppendTag(nil, 28, protowire.BytesType), s))
}

// Whatever peers call things and whenever they did it, DuckDB reads it, and what is
// different stays different.
func TestHostileNames(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	dir, root := t.TempDir(), t.TempDir()
	long := strings.Repeat("n", 100<<10)
	eighty := strings.Repeat("outbound|8080||", 5) + "shop.ns.svc.cluster.local"
	names := []string{eighty, long, "bad\xff", "bad\xfe", `bad\xFF`, "nul\x00", "esc\x1b[2J", "日本", "'; DROP TABLE entries; --", "a/../../b"}
	var clusters [][2]string
	for _, n := range names {
		clusters = append(clusters, [2]string{n, altStat("x")})
	}
	times := []time.Time{time.Date(1969, 7, 20, 20, 17, 40, 123456789, time.UTC), time.Unix(0, 0), time.Unix(0, -1<<63), time.Unix(0, 1<<63-1).Add(-time.Second), time.Date(2026, 3, 9, 12, 0, 0, 999, time.UTC)}
	d := openDir(t, root, Options{})
	for i, at := range times {
		path := filepath.Join(dir, fmt.Sprintf("r%d.xdsp", i))
		conversation(t, path, at, "node\xff-"+long[:300], [][][2]string{clusters})
		of := Recording{Cluster: "c=/\x00 ünï\xff", Proxy: "p\xff/../x", Name: fmt.Sprintf("../%d\x00%s", i, long[:500])}
		if _, err := d.Export(of, check.NewChecker(check.Options{}), walkFile(path, 0)); err != nil {
			t.Fatal(err)
		}
	}
	closeDir(t, d)
	row := ask(t, root, "SELECT len(list_distinct(changed)) AS contents, changed_names, cluster, proxy, recording, client FROM entries WHERE what = 'RESP' LIMIT 1")[0]
	// A name that is no text is none for decode: such resources come last.
	var want []string
	for _, n := range names {
		if utf8.ValidString(n) {
			want = append(want, n)
		}
	}
	want = append(want, "", "")
	if got := words(row["changed_names"]); !slices.Equal(got, want) || number(row["contents"]) != int64(len(names)) {
		t.Errorf("%.40q, and %v contents of %d", got, row["contents"], len(names))
	}
	if row["proxy"] != `p\xFF/../x` || !strings.HasPrefix(row["client"].(string), `node\xFF-n`) || !strings.HasPrefix(row["recording"].(string), "../") {
		t.Errorf("%v %v", row["proxy"], row["client"])
	}
	got := ask(t, root, "SELECT min(epoch_us(time)) AS least, max(epoch_us(time)) AS most, count(DISTINCT recording) AS n, count(*) AS all FROM entries")[0]
	if number(got["n"]) != int64(len(times)) || number(got["all"]) < 25 {
		t.Errorf("%v", got)
	}
	moon := ask(t, root, "SELECT epoch_us(min(time)) AS t, min(date)::VARCHAR AS d FROM entries WHERE recording LIKE '../0%'")[0]
	if number(moon["t"]) != times[0].UnixMicro() || moon["d"] != "1969-07-20" {
		t.Errorf("%v, not %d", moon, times[0].UnixMicro())
	}
	var outside []string
	_ = filepath.WalkDir(filepath.Dir(root), func(path string, _ os.DirEntry, _ error) error {
		if strings.HasSuffix(path, ending) && !strings.HasPrefix(path, root) {
			outside = append(outside, path)
		}
		return nil
	})
	if outside != nil {
		t.Errorf("files outside: %q", outside)
	}
}

// A recording that is damaged in the middle is exported up to there, and the error is
// said; mended, the rest is added.
func TestDamaged(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	dir, root := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "gw.xdsp")
	var responses [][][2]string
	for r := range 1500 {
		random := make([]byte, 4000)
		_, _ = rand.Read(random)
		responses = append(responses, [][2]string{{"a", altStat(fmt.Sprint(r) + string(random))}})
	}
	conversation(t, path, time.Unix(1e9, 0), "n1", responses)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(whole)
	for i := range 4096 {
		broken[len(broken)/2+i] ^= 0xa5
	}
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	d := openDir(t, root, Options{})
	done, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
	if _, is := errors.AsType[*recorder.DamageError](err); !is || done.Entries == 0 {
		t.Fatalf("%+v %v", done, err)
	}
	closeDir(t, d)
	if n := ask(t, root, "SELECT count(*) AS n FROM entries")[0]["n"]; number(n) != int64(done.Entries) {
		t.Errorf("%v rows of %d", n, done.Entries)
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	d = openDir(t, root, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	once := t.TempDir()
	d = openDir(t, once, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	same(t, "mended", everything(t, root), everything(t, once))
}

// A body of 100 MB is one row, and does not take many times its size.
func TestLargeBody(t *testing.T) {
	if testing.Short() || slow {
		t.Skip("it takes a while")
	}
	dir, root := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "gw.xdsp")
	large := make([]byte, 100<<20)
	_, _ = rand.Read(large[:50<<20])
	conversation(t, path, time.Unix(1e9, 0), "n1", [][][2]string{{{"big", altStat(string(large))}, {"small", ""}}})
	large = nil
	d := openDir(t, root, Options{})
	most := watchHeap(t, func() { exportFile(t, d, path, 0); closeDir(t, d) })
	row := ask(t, root, "SELECT max(size) AS size, max(octet_length(bytes)) AS bytes, count(*) AS n FROM resources JOIN bodies USING (content)")[0]
	if number(row["size"]) < 100<<20 || row["size"] != row["bytes"] || number(row["n"]) != 2 {
		t.Errorf("%v", row)
	}
	if most > 1<<30 {
		t.Errorf("%d MB were in use", most>>20)
	}
}

// watchHeap is how much of the heap was in use at most while f ran, as collections
// found it: how much garbage lies beside hangs on how busy the machine is.
func watchHeap(t *testing.T, f func()) (most uint64) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	runtime.GC()
	over, told := make(chan struct{}), make(chan uint64)
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		for {
			metrics.Read(live)
			most = max(most, live[0].Value.Uint64())
			select {
			case <-over:
				told <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	f()
	close(over)
	return <-told
}

// Weeks of traffic with thousands of contents take no more memory than a day of it.
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() || slow {
		t.Skip("it takes a while")
	}
	heap := func(rounds int) uint64 {
		path := filepath.Join(t.TempDir(), "gw.xdsp")
		var responses [][][2]string
		for r := range rounds {
			responses = append(responses, [][2]string{{"a", altStat(fmt.Sprint(r, strings.Repeat("x", 3000)))}, {"b", altStat(fmt.Sprint(r / 2))}})
		}
		conversation(t, path, time.Unix(1e9, 0), "n1", responses)
		responses = nil
		d := openDir(t, t.TempDir(), Options{KnownBytes: 1 << 20, PartBytes: 4 << 20})
		defer closeDir(t, d)
		return watchHeap(t, func() {
			if _, err := d.Export(recordingOf(path), check.NewChecker(check.Options{Past: 4 << 20}), walkFile(path, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	heap(400)
	runtime.GC()                              // what other tests left in pools
	short, long := heap(15_000), heap(60_000) // both are more than a row group
	t.Logf("%d MB, and %d MB for four times as much", short>>20, long>>20)
	if long > short+96<<20 {
		t.Errorf("%d MB, and %d MB for four times as much", short>>20, long>>20)
	}
}

// A directory that cannot be written fails in one sentence, with nothing half there;
// when there is room again, everything comes.
func TestFullDisk(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(3, 60, 97*time.Minute), 0)
	root := t.TempDir()
	d := openDir(t, root, Options{PartBytes: 3000})
	// A directory in the place of one of files stands for whatever goes wrong there.
	stop := filepath.Join(root, Acks)
	if err := os.WriteFile(stop, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
	if closed := d.Close(); err == nil {
		err = closed
	}
	if _, is := errors.AsType[*WriteError](err); !is || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(root, Entries, "*", "*", "*")); len(files) > 0 {
		t.Errorf("entries are there without what they belong to: %q", files)
	}
	if left, _ := os.ReadDir(filepath.Join(root, incomplete)); len(left) != 1 {
		t.Errorf("%d files are left beside", len(left)-1)
	}
	if err := os.Remove(stop); err != nil {
		t.Fatal(err)
	}
	d = openDir(t, root, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	once := t.TempDir()
	d = openDir(t, once, Options{})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	same(t, "after that", everything(t, root), everything(t, once))
}

// certificate is one in PEM.
func certificate(t testing.TB, name string, until time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: until.Add(-time.Hour), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Of the certificates in a content the one that ends first counts, and what only looks
// like one does no harm.
func TestCertificates(t *testing.T) {
	soon, later := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), time.Date(2036, 12, 1, 0, 0, 0, 0, time.UTC)
	body := append(append([]byte("\x0a\x05"), certificate(t, "later", later)...), certificate(t, "soon", soon)...)
	for _, json := range []bool{false, true} {
		if json {
			body = bytes.ReplaceAll(body, []byte("\n"), []byte(`\n`))
		}
		got := certificatesIn(append([]byte(beginCertificate+"\nnone"), body...), json)
		if got.count != 3 || got.first == nil || got.first.Subject.CommonName != "soon" || !got.first.NotAfter.Equal(soon) {
			t.Errorf("%+v", got)
		}
	}
	if got := certificatesIn(bytes.Repeat([]byte(beginCertificate), 10_000), false); got.count != maxCertificates || got.first != nil {
		t.Errorf("%+v", got)
	}
}

func FuzzCertificates(f *testing.F) {
	f.Add(certificate(f, "n", time.Unix(1e9, 0)), false)
	f.Add([]byte(beginCertificate+`\nMII=\n-----END CERTIFICATE-----`), true)
	f.Fuzz(func(t *testing.T, body []byte, json bool) {
		if c := certificatesIn(body, json); c.count > maxCertificates || c.first != nil && c.count == 0 {
			t.Errorf("%+v", c)
		}
	})
}

// The name of a file says what is in it, and no other name does.
func FuzzPartNames(f *testing.F) {
	f.Add("20260101-x.1-20.parquet")
	f.Add("x.open.parquet")
	f.Fuzz(func(t *testing.T, name string) {
		b, s, holes, is := parsePart(name)
		if is && (partName(b, s, holes) != name || s.first > s.last || s.first < 0) {
			t.Errorf("%q is %q %v", name, b, s)
		}
		if x := text(name); !utf8.ValidString(x) || utf8.ValidString(name) && x != name {
			t.Errorf("%q is %q", name, x)
		}
		if p := Partition(name); strings.ContainsAny(p, "/\x00=%\\") && !strings.Contains(p, "%") || p == ".." || p == "." {
			t.Errorf("%q is %q", name, p)
		}
		if p := base("c", "p", name); strings.ContainsAny(p, "./\x00") || len(p) > maxBase+20 {
			t.Errorf("%q is %q", name, p)
		}
	})
}
