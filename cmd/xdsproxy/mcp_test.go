package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	ours "github.com/xdsproxy/xdsproxy/internal/mcp"
	"github.com/xdsproxy/xdsproxy/internal/mcp/mcptest"
	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// assistant is a client of MCP with the program as its server.
type assistant struct {
	*mcp.ClientSession
	source string
	lines  lineLengths
	pid    int
}

// lineLengths passes bytes on and notes the longest line.
type lineLengths struct {
	io.ReadCloser
	line, most int
}

func (l *lineLengths) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	for _, b := range p[:n] {
		if l.line++; b == '\n' {
			l.line = 0
		}
		l.most = max(l.most, l.line)
	}
	return n, err
}

func startAssistant(t *testing.T, args ...string) *assistant {
	t.Helper()
	cmd := command(t, append([]string{"mcp"}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &assistant{source: args[0], lines: lineLengths{ReadCloser: out}, pid: cmd.Process.Pid}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	if a.ClientSession, err = client.Connect(t.Context(), &mcp.IOTransport{Reader: &a.lines, Writer: in}, nil); err != nil {
		_ = cmd.Process.Kill()
		t.Fatalf("%v: %s", err, &said)
	}
	t.Cleanup(func() {
		a.Close() // which ends its input
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("%v: %s", err, &said)
		}
		if a.lines.most > ours.MaxAnswer {
			t.Errorf("an answer has %d bytes", a.lines.most)
		}
	})
	return a
}

// call is one answer, or an error as an assistant reads it.
func (a *assistant) call(t *testing.T, tool string, args map[string]any) (*mcptest.Page, string) {
	t.Helper()
	// The context of a test ends before its cleanup.
	r, err := a.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return nil, text
	}
	var structured any
	p := &mcptest.Page{}
	if err := json.Unmarshal([]byte(text), &structured); err != nil || !reflect.DeepEqual(structured, r.StructuredContent) {
		t.Fatalf("%s: %v: the text is not what is structured: %s", tool, err, text)
	}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatal(err)
	}
	if p.Recording != a.source {
		t.Errorf("%s: it is of %q", tool, p.Recording)
	}
	return p, ""
}

// all is an answer with all its pages.
func (a *assistant) all(t *testing.T, tool string, args map[string]any) (whole any, pages int) {
	t.Helper()
	args = maps.Clone(args)
	for pages = 1; ; pages++ {
		p, wrong := a.call(t, tool, args)
		if wrong != "" {
			t.Fatalf("%s %v: %s", tool, args, wrong)
		}
		if whole = mcptest.Merge(whole, p); p.Cursor == "" {
			return whole, pages
		}
		if args == nil {
			args = map[string]any{}
		}
		args["cursor"] = p.Cursor
	}
}

// agrees says that a tool answers what a command prints.
func (a *assistant) agrees(t *testing.T, tool string, args map[string]any, command ...string) (whole any, pages int) {
	t.Helper()
	text := execute(t, -1, command...)
	var want any
	if slices.Contains(command, "jsonl") {
		list := []any{}
		for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
			var one any
			if err := dec.Decode(&one); err != nil {
				t.Fatal(err)
			}
			list = append(list, one)
		}
		want = map[string]any{"entries": list}
	} else if err := json.Unmarshal(text, &want); err != nil {
		t.Fatalf("%q: %v", command, err)
	}
	whole, pages = a.all(t, tool, args)
	if !reflect.DeepEqual(whole, want) {
		t.Errorf("%s %v, with %d pages, is not what %q prints", tool, args, pages, command)
	}
	return whole, pages
}

// plainHome keeps what the person who runs the tests has set out of them.
func plainHome(t *testing.T) {
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
}

// Each tool answers what its command prints for machines, however long that is: on
// the largest recordings there are, and on a script.
func TestAssistantReads(t *testing.T) {
	plainHome(t)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	sources := trees(t)
	slices.SortFunc(sources, func(a, b string) int { return int(size(b) - size(a)) })
	sources = append(sources[:2], wideScript(t), "../../check/testdata/sessions/envoy-delta-secrets.xdsp")
	pages := map[string]int{}
	for _, source := range sources {
		a := startAssistant(t, source)
		count := func(tool string) func(any, int) any {
			return func(whole any, n int) any { pages[tool] = max(pages[tool], n); return whole }
		}
		status := count("clients")(a.agrees(t, "clients", nil, "status", source, "-o", "json"))
		a.agrees(t, "clients", map[string]any{"at": 9}, "status", source, "--at", "9", "-o", "json")
		if len(members(status, "clients")) == 0 {
			t.Errorf("%s has no clients", source)
		}
		entries := count("timeline")(a.agrees(t, "timeline", map[string]any{"unfolded": true}, "watch", source, "-o", "jsonl"))
		a.agrees(t, "timeline", map[string]any{"unfolded": true, "filter": "kind:resp,delta,nack"}, "watch", source, "-o", "jsonl", "--filter", "kind:resp,delta,nack")
		count("check")(a.agrees(t, "check", nil, "check", source, "-o", "json"))
		long := 0
		for i, e := range members(entries, "entries") {
			if size, _ := e["size"].(float64); size > 8000 && long < 4 {
				long++
			} else if i%80 != 5 {
				continue
			}
			seq := fmt.Sprint(e["seq"])
			count("entry")(a.agrees(t, "entry", map[string]any{"seq": e["seq"]}, "show", source, seq, "-o", "json"))
		}
		for i, c := range members(status, "clients") {
			if i > 1 {
				break
			}
			client := c["client"].(string)
			tree := count("tree")(a.agrees(t, "tree", map[string]any{"client": client}, "tree", source, client, "-o", "json"))
			for i, n := range append(members(tree, "resources"), members(tree, "dangling")...) {
				if i > 1 {
					break
				}
				name, typ := n["name"].(string), n["type"].(string)
				args := map[string]any{"name": name, "type": typ, "client": client, "all": true}
				count("diff")(a.agrees(t, "diff", args, "diff", source, "--name="+name, "--type", typ, "--client", client, "--all", "-o", "json"))
			}
		}
	}
	a := startAssistant(t, sources[0])
	_, pages["explain"] = a.agrees(t, "explain", nil, "explain", "-o", "json")
	a.agrees(t, "explain", map[string]any{"rule": "nack-received"}, "explain", "nack-received", "-o", "json")
	for _, tool := range ours.Tools() {
		if pages[tool.Name] < 2 {
			t.Errorf("no answer of %s had more than one page", tool.Name)
		}
	}
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" || !strings.Contains(fmt.Sprint(tool.InputSchema), "additionalProperties:false") {
			t.Errorf("%+v", tool)
		}
	}
	if said := a.InitializeResult().Instructions; !strings.Contains(said, "never an instruction") {
		t.Error(said)
	}
}

// wideScript is a conversation of which every answer is long.
func wideScript(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	names := func(form string) string {
		var all []string
		for i := range 40 {
			all = append(all, fmt.Sprintf(form, i))
		}
		return strings.Join(all, ",")
	}
	fmt.Fprintf(&b, "C> type=LDS V= N= R=[] node=gw-0\nS< type=LDS V=1 N=l res=[long#<b>] size=100KiB\nC> type=LDS V=1 N=l R=[] node=gw-0\n")
	for v := range 40 { // of one resource
		fmt.Fprintf(&b, "S< type=LDS V=2.%[1]d N=v%[1]d res=[c0#h%[1]d]\nC> type=LDS V=2.%[1]d N=v%[1]d R=[] node=gw-0\n", v)
	}
	for i := range 24 {
		if i > 0 {
			fmt.Fprintf(&b, "-- stream %d method=StreamAggregatedResources peer=10.0.0.%d\n", i+1, i)
		}
		fmt.Fprintf(&b, "C> type=CDS V= N= R=[] node=gw-%d\n", i)
		fmt.Fprintf(&b, "S< type=CDS V=1 N=a res=[%s]\nC> type=CDS V=1 N=a R=[] node=gw-%d\n", names("c%d{eds}"), i)
		fmt.Fprintf(&b, "C> type=EDS V= N= R=[%s]\nS< type=EDS V=1 N=b res=[%[1]s]\nC> type=EDS V=1 N=b R=[%[1]s]\n", names("c%d"))
		fmt.Fprintf(&b, "S< type=CDS V=2 N=c res=[%s]\nC> type=CDS V=1 N=c R=[] err=\"c7: wrong in way %d\" code=13\n", names("c%d{eds}#new"), i)
	}
	path := filepath.Join(t.TempDir(), "wide.xds")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// members are the objects in a list of an answer.
func members(whole any, name string) (out []map[string]any) {
	list, _ := whole.(map[string]any)[name].([]any)
	for _, one := range list {
		out = append(out, one.(map[string]any))
	}
	return out
}

// What only repeats is told in one object, and nothing else is missing.
func TestAssistantSeesRepeats(t *testing.T) {
	plainHome(t)
	for source, polls := range map[string]bool{"../../check/testdata/sessions/rest-envoy.xdsp": true, "../../check/testdata/sessions/demo.xdsp": false} {
		a := startAssistant(t, source)
		every, _ := a.all(t, "timeline", map[string]any{"unfolded": true})
		folded, _ := a.all(t, "timeline", nil)
		var given, runs []any
		last := map[any]float64{}
		for _, o := range members(folded, "entries") {
			if of, is := o["repeats"]; is {
				runs = append(runs, o)
				last[of] = max(last[of], o["last"].(float64))
				if _, is := o["polls"]; is != polls || o["rounds"].(float64) < 1 {
					t.Errorf("%s: %v", source, o)
				}
				continue
			}
			given = append(given, o)
		}
		left, streams := 0, map[any]bool{}
		for _, o := range given {
			streams[o.(map[string]any)["stream"]] = true
		}
		for _, o := range members(every, "entries") {
			if len(given) > 0 && reflect.DeepEqual(any(o), given[0]) {
				given = given[1:]
				continue
			}
			left++
			if polls && streams[o["stream"]] {
				continue // of a poll the request stands for its frames
			}
			if !slices.ContainsFunc(slices.Collect(maps.Values(last)), func(until float64) bool { return o["seq"].(float64) <= until }) {
				t.Errorf("%s: %v is missing", source, o)
			}
		}
		if len(given) > 0 || len(runs) == 0 || left < len(runs) {
			t.Errorf("%s: %d runs of %d entries, and %v", source, len(runs), left, given)
		}
	}
}

// A part of an entry is what stands there in the whole.
func TestAssistantSelects(t *testing.T) {
	plainHome(t)
	source := "../../check/testdata/systems/consul-updates.xdsp"
	a := startAssistant(t, source)
	found := 0
	entries, _ := a.all(t, "timeline", map[string]any{"filter": "kind:resp,delta", "unfolded": true})
	for _, e := range members(entries, "entries") {
		whole, _ := a.all(t, "entry", map[string]any{"seq": e["seq"]})
		names, _ := e["names"].([]any)
		for _, name := range names {
			part, _ := a.all(t, "entry", map[string]any{"seq": e["seq"], "resource": name})
			p := part.(map[string]any)
			again, _ := a.all(t, "entry", map[string]any{"seq": e["seq"], "path": p["path"]})
			text, _ := json.Marshal(p["value"])
			if !reflect.DeepEqual(part, again) || !strings.Contains(string(text), fmt.Sprintf("%q:%q", "name", name)) && !strings.Contains(string(text), fmt.Sprintf("%q:%q", "cluster_name", name)) {
				t.Errorf("entry %v, %v: %v", e["seq"], name, part)
			}
			if list := whole.(map[string]any)["message"].(map[string]any)["resources"].([]any); !slices.ContainsFunc(list, func(r any) bool { return reflect.DeepEqual(r, p["value"]) }) {
				t.Errorf("entry %v has no %v", e["seq"], part)
			}
			found++
		}
	}
	if found < 20 {
		t.Errorf("only %d resources were looked at", found)
	}
}

// What an assistant should not ask is an error of one sentence, with a hint, and
// the next call is answered.
func TestAssistantErrs(t *testing.T) {
	plainHome(t)
	source := "../../check/testdata/sessions/rest-envoy.xdsp"
	a := startAssistant(t, source)
	first, _ := a.call(t, "timeline", nil)
	other := startAssistant(t, "../../check/testdata/sessions/rest-nack.xdsp")
	foreign, _ := other.call(t, "timeline", nil)
	if first.Cursor == "" || foreign.Cursor == "" {
		t.Fatal("they have no cursors")
	}
	one := regexp.MustCompile(`^[^\n]{10,400}(\nhint: [^\n]+)+$`)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"timeline", map[string]any{"cursor": foreign.Cursor}, "the cursor is of another recording"},
		{"timeline", map[string]any{"cursor": first.Cursor, "filter": "kind:ack"}, "the cursor is of another call"},
		{"check", map[string]any{"cursor": first.Cursor}, "the cursor is of another call"},
		{"timeline", map[string]any{"cursor": first.Cursor[1:]}, "the cursor is none that this server gave"},
		{"timeline", map[string]any{"cursor": "\x00" + strings.Repeat("A", 9000)}, "the cursor is none that this server gave"},
		{"timeline", map[string]any{"cursor": 7}, "cursor is a text, not 7"},
		{"timeline", map[string]any{"filter": "kind:"}, `filter "kind:"`},
		{"timeline", map[string]any{"filter": "name:/(/"}, `filter "name:/(/"`},
		{"timeline", map[string]any{"filter": strings.Repeat("x ", 9000)}, "filter has 18000 bytes, and at most 16384 are taken"},
		{"timeline", map[string]any{"form": 1}, `timeline has no argument "form"`},
		{"timeline", map[string]any{"source": "/etc/passwd"}, `timeline has no argument "source"`},
		{"timeline", map[string]any{"from": -1}, "from is a whole number from 1 on, not -1"},
		{"timeline", map[string]any{"from": json.Number("1" + strings.Repeat("0", 500))}, "from is a whole number from 1 on, not 1000"},
		{"timeline", map[string]any{"unfolded": "maybe"}, `unfolded is true or false, not "maybe"`},
		{"entry", nil, "entry needs seq"},
		{"entry", map[string]any{"seq": 9.5}, "seq is a whole number from 1 on, not 9.5"},
		{"entry", map[string]any{"seq": uint64(1)<<63 - 1}, "entry 9223372036854775807 is not in"},
		{"entry", map[string]any{"seq": 2, "resource": "x"}, `entry 2 carries no resource "x"`},
		{"entry", map[string]any{"seq": 2, "path": "messages"}, `the entry has no member "messages"`},
		{"entry", map[string]any{"seq": 2, "path": "a", "resource": "x"}, "resource and path are two ways"},
		{"clients", map[string]any{"at": 999999}, "there is no entry 999999 in"},
		{"check", map[string]any{"severity": "grave"}, `severity is one of error, warning, info, not "grave"`},
		{"check", map[string]any{"rule": "nack-recieved"}, `there is no rule "nack-recieved"`},
		{"explain", map[string]any{"rule": "--help"}, `there is no rule "--help"`},
		{"diff", map[string]any{}, "diff needs name"},
		{"diff", map[string]any{"name": "/etc/passwd"}, `carries a resource "/etc/passwd"`},
		{"diff", map[string]any{"name": "--all"}, `carries a resource "--all"`},
		{"diff", map[string]any{"name": source}, `carries a resource "` + source},
		{"tree", map[string]any{"client": strings.Repeat("<\x1b[31m\n", 1000)}, `there is no client "<\x1b[31m\n<`},
	} {
		p, wrong := a.call(t, c.tool, c.args)
		if p != nil || !strings.Contains(wrong, c.want) || !one.MatchString(wrong) && len(wrong) < 400 {
			t.Errorf("%s %.80v: %+v %s", c.tool, c.args, p, wrong)
		}
	}
	if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "run"}); err == nil {
		t.Error("there is a tool that runs something")
	}
	a.agrees(t, "check", nil, "check", source, "-o", "json")
}

// Cursors hold in another process, and a whole answer that has changed since is
// refused.
func TestAssistantGoesOnElsewhere(t *testing.T) {
	plainHome(t)
	path := wideScript(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole[:bytes.Index(whole, []byte("-- stream 23"))])
	a := startAssistant(t, path)
	every := map[string]any{"unfolded": true}
	line, _ := a.call(t, "timeline", every)
	first, _ := a.call(t, "clients", nil)
	if line.Cursor == "" || first.Cursor == "" {
		t.Fatal("they have no cursors")
	}
	on := map[string]any{"cursor": first.Cursor}
	elsewhere := startAssistant(t, path)
	if p, wrong := elsewhere.call(t, "clients", on); p == nil || p.BeginsAt == "" {
		t.Error(wrong)
	}
	write(whole)
	if p, wrong := elsewhere.call(t, "clients", on); p == nil {
		t.Errorf("what is kept is not given: %s", wrong)
	}
	again := startAssistant(t, path)
	if _, wrong := again.call(t, "clients", on); !strings.HasPrefix(wrong, "the recording has grown since the cursor was made") {
		t.Error(wrong)
	}
	merged := mcptest.Merge(nil, line)
	for cursor := line.Cursor; cursor != ""; {
		p, wrong := again.call(t, "timeline", map[string]any{"unfolded": true, "cursor": cursor})
		if wrong != "" {
			t.Fatal(wrong)
		}
		merged, cursor = mcptest.Merge(merged, p), p.Cursor
	}
	if want, _ := again.all(t, "timeline", every); !reflect.DeepEqual(merged, want) {
		t.Error("pages of two processes are not the whole")
	}
	// The same page once more: the walk has gone on meanwhile.
	if p, wrong := again.call(t, "timeline", map[string]any{"unfolded": true, "cursor": line.Cursor}); p == nil {
		t.Error(wrong)
	}
}

// Of a running proxy the tools tell what has been said until now.
func TestAssistantOfARunningProxy(t *testing.T) {
	plainHome(t)
	story, err := xdstest.NewStory("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer story.Close()
	socket := filepath.Join(t.TempDir(), "v.sock")
	r := startRun(t, "--upstream", story.Addr(), "--viewer", "unix:"+socket)
	play := func() {
		if err := story.Play(t.Context(), r.addr, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	play()
	assistants := []*assistant{startAssistant(t, "unix:"+socket), startAssistant(t, r.path)}
	var lasts []float64
	for _, a := range assistants {
		status, _ := a.all(t, "clients", nil)
		if n := len(members(status, "clients")); n != 3 {
			t.Errorf("%s: %d clients", a.source, n)
		}
		entries, pages := a.all(t, "timeline", map[string]any{"unfolded": true})
		list := members(entries, "entries")
		for i, e := range list {
			if e["seq"].(float64) != float64(i+1) {
				t.Fatalf("%s: entry %v is number %d", a.source, e["seq"], i+1)
			}
		}
		if pages < 3 {
			t.Errorf("%d pages", pages)
		}
		lasts = append(lasts, float64(len(list)))
	}
	play()
	r.signal(t, syscall.SIGTERM) // when it has ended, all is written
	if stderr, code := r.end(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if _, wrong := assistants[0].call(t, "timeline", nil); !strings.Contains(wrong, "\nhint: ") {
		t.Errorf("of a proxy that is gone it says %q", wrong)
	}
	later, _ := assistants[1].all(t, "timeline", map[string]any{"from": lasts[1] + 1, "unfolded": true})
	for i, e := range members(later, "entries") {
		if e["seq"].(float64) != lasts[1]+float64(i)+1 {
			t.Fatalf("entry %v comes after %v", e["seq"], lasts[1]+float64(i))
		}
	}
	if n := len(members(later, "entries")); n < 50 {
		t.Errorf("%d entries came later", n)
	}
	assistants[1].agrees(t, "check", nil, "check", r.path, "-o", "json")
}

// A walk over pages goes on where more comes from the proxy than is under way at a time.
func TestAssistantOfALongSession(t *testing.T) {
	plainHome(t)
	const entries = 2500
	log, err := recorder.Create(filepath.Join(t.TempDir(), "long.xdsp"), recorder.Options{NoTicks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for range entries {
		text := make([]byte, 500) // that nothing compresses
		_, _ = rand.Read(text)
		log.Append(session.Entry{Kind: session.KindNote, Note: &session.Note{Text: hex.EncodeToString(text)}})
	}
	socket := filepath.Join(t.TempDir(), "v.sock")
	l, err := serve.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	server := serve.New(serve.Config{Log: log, Logger: zap.NewNop()})
	server.Serve(l, "")
	defer server.Close(time.Second)
	for log.Facts().LastSeq < entries {
		time.Sleep(time.Millisecond)
	}
	list, pages := startAssistant(t, "unix:"+socket).all(t, "timeline", map[string]any{"unfolded": true})
	if n := len(members(list, "entries")); n != entries || pages < 10 {
		t.Errorf("%d entries of %d, %d pages", n, entries, pages)
	}
}

// A signal ends it, and so does something else than the protocol.
func TestAssistantEnds(t *testing.T) {
	source := "../../check/testdata/sessions/demo.xdsp"
	cmd := command(t, "mcp", source)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	interrupted(t, cmd)
	for in, want := range map[string]string{"show me\n": "cannot go on with the client", `{"a":"` + strings.Repeat("x", 2<<20): "cannot go on with the client", "": ""} {
		cmd := command(t, "mcp", source)
		var out, said bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), &out, &said
		_ = cmd.Run() // the exit code says it
		code := 1
		if want == "" {
			code = 0
		}
		if !strings.Contains(said.String(), want) || out.Len() > 0 || cmd.ProcessState.ExitCode() != code || want == "" && said.Len() > 0 {
			t.Errorf("%.20q: %s%s, %d", in, &out, &said, cmd.ProcessState.ExitCode())
		}
	}
}
