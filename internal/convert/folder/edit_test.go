package folder_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/convert/folder"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

const systems = "../../../check/testdata/systems/"

// edit replaces a text in a file of a folder, which must be there.
func edit(t testing.TB, dir, name, old, with string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s: no %q, %v", name, old, err)
	}
	write(t, dir, name, strings.Replace(string(text), old, with, 1))
}

// remarks are those of a recording, by what they are about.
func remarksOf(all []session.Entry) map[session.Seq]string {
	out := map[session.Seq]string{}
	for _, e := range all {
		if e.Note != nil && e.Note.Code == session.NoteRemark {
			out[e.Note.About] = e.Note.Text
		}
	}
	return out
}

// One value in one file changes the responses that have it, and those say so. All
// other entries are what they were.
func TestOneValue(t *testing.T) {
	path := systems + "istio-sidecar-delta.xdsp"
	dir := export(t, path)
	const file = "resources/Cluster/BlackHoleCluster@1.yaml"
	edit(t, dir, file, "connect_timeout: 10s", "connect_timeout: 2s")
	again, done := imported(t, dir)
	was, of := read(t, path)
	is, facts := read(t, again)
	if done.Edited == 0 || done.Edited > 3 || done.Added+done.Deleted+done.Moved > 0 || len(done.Lossy)+len(done.Unused) > 0 {
		t.Fatalf("%+v", done)
	}
	if facts.Masked || facts.LastSeq <= of.LastSeq {
		t.Errorf("%+v of %+v: what somebody typed is not masked", facts, of)
	}
	told := remarksOf(is)
	edited := uint64(0)
	for i := range was {
		if told[was[i].Seq] == "" {
			same(t, path, was[i], is[i])
			continue
		}
		edited++
		if told[was[i].Seq] != "edited: "+file {
			t.Errorf("%q", told[was[i].Seq])
		}
		// One byte of it is another one, of which the length has one less.
		a, b := was[i].Message.Data.Bytes(), is[i].Message.Data.Bytes()
		if len(a) != len(b) || is[i].Message.Size != int64(len(b)) {
			t.Errorf("entry %d: %d bytes of %d", was[i].Seq, len(b), len(a))
		}
	}
	if edited != done.Edited || !strings.HasPrefix(told[0], "edited by hand: ") {
		t.Errorf("%d remarks, %q", edited, told[0])
	}
}

// Entries are deleted, moved, copied and added in session.yaml.
func TestSessionEdited(t *testing.T) {
	path := "../../../check/testdata/sessions/envoy-sotw.xdsp"
	dir := export(t, path)
	text, err := os.ReadFile(filepath.Join(dir, "session.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	docs := strings.SplitAfter(string(text), "\n--- ")
	was, _ := read(t, path)
	// The last two are deleted, the tenth comes after the eleventh, the fifth
	// twice, and one is new.
	last := strings.TrimSuffix(docs[len(docs)-3], "--- ")
	docs = append(docs[:len(docs)-3], last)
	docs[10], docs[11] = docs[11], docs[10]
	docs = slices.Insert(docs, 6, docs[5])
	docs = append(docs, "---\nkind: note\nside: proxy\nnote:\n  code: remark\n  text: hello\n  about: 12\n")
	write(t, dir, "session.yaml", strings.ReplaceAll(strings.Join(docs, ""), "\n", "\r\n"))
	again, done := imported(t, dir)
	is, _ := read(t, again)
	n := len(was)
	if done.Deleted != 2 || done.Added != 2 || done.Edited != 0 || int(done.Entries) != n {
		t.Fatalf("%+v of %d", done, n)
	}
	for i, from := range map[int]int{3: 3, 4: 4, 5: 4, 6: 5, 10: 10, 11: 9, 12: 11} {
		a, b := was[from], is[i]
		b.Time, b.Seq = a.Time, a.Seq
		same(t, path, a, b)
	}
	for i := 1; i < len(is); i++ {
		if is[i].Seq <= is[i-1].Seq || is[i].Time.Before(is[i-1].Time) {
			t.Errorf("entry %d of %s follows %d of %s", is[i].Seq, is[i].Time, is[i-1].Seq, is[i-1].Time)
		}
	}
}

// Where recordings are joined, entries are counted on, and a gap moves with the
// entries that it stands for. One that was written without a number, or keeps its own,
// says what is written.
func TestGapsMove(t *testing.T) {
	dir := export(t, "../../../check/testdata/sessions/envoy-sotw.xdsp")
	text, err := os.ReadFile(filepath.Join(dir, "session.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const gap = "kind: gap\nside: proxy\ngap:\n  first: 2\n  last: 4\n  entries: 3\n"
	write(t, dir, "session.yaml", string(text)+"---\nseq: 5\n"+gap+"---\n"+gap+"---\nseq: 100\n"+gap+"---\nseq: 100\n"+gap)
	path, done := imported(t, dir)
	if done.Moved != 2 {
		t.Errorf("%+v", done)
	}
	all, _ := read(t, path)
	var got []string
	for _, e := range all {
		if e.Gap != nil {
			got = append(got, fmt.Sprintf("%d: %d-%d", e.Seq, e.Gap.First, e.Gap.Last))
		}
	}
	if want := []string{"58: 55-57", "59: 2-4", "100: 2-4", "101: 3-5"}; !slices.Equal(got, want) {
		t.Errorf("the gaps are %q, not %q", got, want)
	}
}

// A certificate that never expires, or did long ago, hinders nobody who edits its entry:
// what the recording holds of that time stays as it is.
func TestCertificatesOfAnyYear(t *testing.T) {
	dir := t.TempDir()
	for i, year := range []int{1, 1500, 1969, 2030, 2262, 9999} {
		at := time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC)
		path := filepath.Join(dir, fmt.Sprintf("%d.xdsp", i))
		log, err := recorder.Create(path, recorder.Options{NoTicks: true})
		if err != nil {
			t.Fatal(err)
		}
		log.Append(session.Entry{
			Kind: session.KindConnect, Side: session.Client, Conn: 1, Time: time.Unix(1_800_000_000, 0),
			Peer: &session.Peer{Client: "192.0.2.1:1", ServerTLS: &session.TLS{Version: "1.3", NotAfter: at}},
		})
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		was, _ := read(t, path)
		from := export(t, path)
		edit(t, from, "session.yaml", "192.0.2.1:1", "192.0.2.1:2")
		new, done := imported(t, from)
		is, _ := read(t, new)
		if got, want := is[0].Peer, was[0].Peer; done.Edited != 1 || got.Client != "192.0.2.1:2" || !got.ServerTLS.NotAfter.Equal(want.ServerTLS.NotAfter) {
			t.Errorf("%v: %v, not %v; %+v", at, got.ServerTLS.NotAfter, want.ServerTLS.NotAfter, done)
		}
		// As somebody may type it.
		from = export(t, path)
		edit(t, from, "session.yaml", "not_after: \""+asText(was[0].Peer.ServerTLS.NotAfter)+"\"", "not_after: \""+asText(at)+"\"")
		edit(t, from, "session.yaml", "192.0.2.1:1", "192.0.2.1:3")
		new, _ = imported(t, from)
		if is, _ := read(t, new); !is[0].Peer.ServerTLS.NotAfter.Equal(was[0].Peer.ServerTLS.NotAfter) {
			t.Errorf("%v, typed: %v, not %v", at, is[0].Peer.ServerTLS.NotAfter, was[0].Peer.ServerTLS.NotAfter)
		}
	}
}

func asText(at time.Time) string { return at.Format(time.RFC3339Nano) }

// A resource is another file, which is new; a version and a header are others.
func TestAnotherFile(t *testing.T) {
	path := systems + "eg-updates-plain.xdsp"
	dir := export(t, path)
	names, err := filepath.Glob(filepath.Join(dir, "resources/Cluster/*@1.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatal(err)
	}
	old, _ := filepath.Rel(dir, names[0])
	text, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "resources/Cluster/new.yaml", string(text)+"alt_stat_name: other\n")
	write(t, dir, "resources/Cluster/idle.yaml", "{}")
	edit(t, dir, "session.yaml", `"@file": `+old, `"@file": resources/Cluster/new.yaml`)
	again, done := imported(t, dir)
	if done.Edited != 1 || !slices.Equal(done.Unused, []string{filepath.ToSlash(old), "resources/Cluster/idle.yaml"}) {
		t.Errorf("%+v", done)
	}
	is, _ := read(t, again)
	found := slices.ContainsFunc(is, func(e session.Entry) bool {
		return e.Message != nil && strings.Contains(string(e.Message.Data.Bytes()), "other")
	})
	if !found {
		t.Error("the new content is not there")
	}
}

// All that is wrong is told, with its place, and nothing is written.
func TestFaults(t *testing.T) {
	path := systems + "istio-sidecar-delta.xdsp"
	const cluster = "resources/Cluster/BlackHoleCluster@1.yaml"
	for name, c := range map[string]struct {
		do   func(dir string)
		want []string
	}{
		"a missing file": {func(dir string) {
			if err := os.Remove(filepath.Join(dir, cluster)); err != nil {
				t.Fatal(err)
			}
		}, []string{"session.yaml:", `there is no file "` + cluster + `"`}},
		"several": {func(dir string) {
			edit(t, dir, cluster, "connect_timeout: 10s", "connect_timeot: 10s\nlb_policy: ROUND_RIBBON\nconnect_timeout: soon")
			edit(t, dir, "session.yaml", "kind: connect", "kind: disconect\ntimes: 5")
		}, []string{
			"session.yaml:6:7: kind has no value \"disconect\"", "session.yaml:7:1: there is no field \"times\"",
			cluster + `:5:1: there is no field "connect_timeot"`, cluster + `:6:12: "ROUND_RIBBON" is no word of the enum of lb_policy`,
			cluster + ":7:18: connect_timeout is of type Duration, and this value is not",
		}},
		"many in one file": {func(dir string) {
			edit(t, dir, cluster, "connect_timeout: 10s", "connect_timeout: 5\nx: 1\ntype: EDSS\nname: no\n"+
				"load_assignment: {endpoints: [{priority: x}, {y: 1}], z: 1}\nmetadata: {filter_metadata: {a: 1, b: 2}}\ndns_lookup_family: [{}]")
		}, []string{
			cluster + ":5:18: connect_timeout is of type Duration, and this value is not", cluster + `:6:1: there is no field "x"`,
			cluster + `:7:7: "EDSS" is no word of the enum of type`, cluster + ":8:7: name is of type string, and this value is not: put it in quotes",
			cluster + ":9:42: priority is of type uint32, and this value is not", cluster + `:9:47: there is no field "y"`, cluster + `:9:55: there is no field "z"`,
			cluster + ":10:33: filter_metadata is of type Struct, and this value is not", cluster + ":10:39: filter_metadata is of type Struct, and this value is not",
			cluster + ":11:20: dns_lookup_family is of type enum, and this value is not",
		}},
		"deep in a file": {func(dir string) {
			edit(t, dir, cluster, "connect_timeout: 10s", "connect_timeout: 5\nmetadata: "+strings.Repeat("[", 150)+strings.Repeat("]", 150))
		}, []string{cluster + ":5:18: connect_timeout is of type Duration", cluster + ":6:", "nested too deep"}},
		"an unknown type": {func(dir string) { edit(t, dir, cluster, "v3.Cluster", "v3.Clusters") }, []string{
			cluster + `:2:10: the type "envoy.config.cluster.v3.Clusters" is not known`,
		}},
		"two of one name": {func(dir string) {
			edit(t, dir, "session.yaml", "resources/Cluster/InboundPassthroughCluster@1.yaml", cluster)
			edit(t, dir, "session.yaml", "name: InboundPassthroughCluster", "name: BlackHoleCluster")
		}, []string{`two resources of the name "BlackHoleCluster" in one response`}},
		"a way out": {func(dir string) {
			edit(t, dir, "session.yaml", cluster, "../../../etc/passwd")
		}, []string{`there is no file "../../../etc/passwd"`}},
		"a link": {func(dir string) {
			if err := os.Remove(filepath.Join(dir, cluster)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, cluster)); err != nil {
				t.Fatal(err)
			}
		}, []string{cluster + ": not a regular file", `there is no file "` + cluster + `"`}},
		"a bomb": {func(dir string) {
			bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
			for c := 'b'; c < 'k'; c++ {
				p := string(c - 1)
				bomb += string(c) + ": &" + string(c) + " [*" + strings.Repeat(p+",*", 9) + p + "]\n"
			}
			write(t, dir, cluster, bomb)
		}, []string{cluster + ":", "more values than can be read"}},
		"too much": {func(dir string) {
			write(t, dir, cluster, strings.Repeat("# nothing\n", 2<<20))
		}, []string{cluster + ": larger than 16 MiB"}},
		"one file many times": {func(dir string) {
			write(t, dir, cluster, "\"@type\": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: "+strings.Repeat("x", 15<<20))
			refs := strings.Repeat("  - resource:\n      \"@file\": "+cluster+"\n", 100)
			edit(t, dir, "session.yaml", "  resources:\n", "  resources:\n"+refs)
		}, []string{"session.yaml:", "a message of more than 64 MiB"}},
		"two documents": {func(dir string) { edit(t, dir, cluster, "name:", "---\nname:") }, []string{cluster + ":3: there is another document"}},
		"a tab":         {func(dir string) { edit(t, dir, "session.yaml", "kind: connect", "\tkind: connect") }, []string{"session.yaml:", "found a tab character"}},
		"no message": {func(dir string) {
			edit(t, dir, "session.yaml", "message:\n", "bytes: \"aGk=\"\nmessage:\n")
			edit(t, dir, "session.yaml", "wire_size", "size: -1\nwire_size")
		}, []string{"a message is in one of the fields message, text and bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := export(t, path)
			if name == "no message" {
				edit(t, dir, "session.yaml", "message:\n", "wire_size: 1\nmessage:\n")
			}
			c.do(dir)
			to := filepath.Join(t.TempDir(), "new.xdsp")
			_, err := folder.Import(context.Background(), dir, to, folder.Options{})
			if _, is := errors.AsType[*folder.Error](err); !is {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
			if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
				t.Error("something was written")
			}
		})
	}
}

// A session.yaml that was cut off makes no recording, wherever that was.
func TestCutOff(t *testing.T) {
	dir := export(t, "../../../check/testdata/sessions/envoy-sotw.xdsp")
	text, err := os.ReadFile(filepath.Join(dir, "session.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	last := strings.LastIndex(string(text), "\n--- ") + len("\n--- # \n") + 32
	end := strings.LastIndex(string(text), "\n# end of the session\n")
	to := func() string { return filepath.Join(t.TempDir(), "new.xdsp") }
	for at := last + 1; at < end; at++ {
		write(t, dir, "session.yaml", string(text[:at]))
		if _, err := folder.Import(context.Background(), dir, to(), folder.Options{}); err == nil || !strings.Contains(err.Error(), "session.yaml:") {
			t.Errorf("cut %d of %d bytes behind its beginning: %v", at-last, end-last, err)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "session.yaml: there is no entry in it; there were 57"},
		{string(text[:strings.Index(string(text), "\n--- ")]), "session.yaml: there is no entry in it; there were 57"},
		{string(text[:last]) + "seq: 57\nkind: note\n# end of the session\n", "note is missing: an entry of the kind note has it"},
		{string(text[:last]) + "seq: 57\nkind: message\n# end of the session\n", "stream is missing: an entry of the kind message has it"},
	} {
		write(t, dir, "session.yaml", c.text)
		if _, err := folder.Import(context.Background(), dir, to(), folder.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("no %q in %v", c.want, err)
		}
	}
	// The last entries are deleted, or the last one is edited.
	write(t, dir, "session.yaml", string(text[:last-len("--- # \n")-32]))
	if _, done := imported(t, dir); done.Deleted != 1 || done.Edited > 0 {
		t.Errorf("%+v", done)
	}
	write(t, dir, "session.yaml", string(text[:end])+"\nproblems: [mine]\n# end of the session\r\n")
	if _, done := imported(t, dir); done.Deleted > 0 || done.Edited != 1 {
		t.Errorf("%+v", done)
	}
}

// A word that is wrong is told once, with those that are right.
func TestWrongKind(t *testing.T) {
	dir := export(t, systems+"adsc-mcp.xdsp")
	edit(t, dir, "session.yaml", "kind: open", "kind: opne")
	_, err := folder.Import(context.Background(), dir, filepath.Join(t.TempDir(), "new.xdsp"), folder.Options{})
	wrong, is := errors.AsType[*folder.Error](err)
	if !is || len(wrong.Faults) != 1 || !strings.Contains(wrong.Faults[0].Message, `kind has no value "opne": it is one of unknown, connect, open, `) {
		t.Error(err)
	}
}

// A file that nothing refers to is told, also if it is a copy or has another
// ending; what an editor leaves behind is not.
func TestUnused(t *testing.T) {
	dir := export(t, systems+"istio-sidecar-delta.xdsp")
	text, err := os.ReadFile(filepath.Join(dir, "resources/Cluster/BlackHoleCluster@1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"copy.yaml", "copy.yml", "copy.yaml~", ".copy.yaml.swp"} {
		write(t, dir, "resources/Cluster/"+name, string(text))
	}
	if _, done := imported(t, dir); !slices.Equal(done.Unused, []string{"resources/Cluster/copy.yaml", "resources/Cluster/copy.yml"}) {
		t.Errorf("%+v", done)
	}
}

// A folder that is no such folder is told apart, and one that is full is left alone.
func TestNoFolder(t *testing.T) {
	dir := t.TempDir()
	if _, err := folder.Import(context.Background(), dir, filepath.Join(dir, "new.xdsp"), folder.Options{}); err == nil || !strings.Contains(err.Error(), ".original.xdsp") {
		t.Error(err)
	}
	for _, name := range []string{"session.yaml", ".original.xdsp"} {
		half := export(t, systems+"adsc-mcp.xdsp")
		if err := os.Remove(filepath.Join(half, name)); err != nil {
			t.Fatal(err)
		}
		_, err := folder.Import(context.Background(), half, filepath.Join(dir, "new.xdsp"), folder.Options{})
		if want := " is no folder that xdsproxy export -o dir has written: there is no file " + name + " in it"; err == nil || !strings.HasSuffix(err.Error(), want) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	write(t, dir, "mine", "")
	_, facts := read(t, systems+"adsc-mcp.xdsp")
	if _, err := folder.NewExport(dir, facts, recorder.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	for _, name := range []string{"session.yaml", ".original.xdsp"} {
		whole := export(t, systems+"adsc-mcp.xdsp")
		file := filepath.Join(whole, name)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/zero", file); err != nil {
			t.Fatal(err)
		}
		if _, err := folder.Import(context.Background(), whole, filepath.Join(dir, "new.xdsp"), folder.Options{}); err == nil {
			t.Errorf("%s may be a link", name)
		}
	}
}
