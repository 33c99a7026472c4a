package render

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// rejections is a server that sends again what was rejected.
const rejections = `C> type=LDS V= N= R=[] node=gw-0.istio-system
S< type=LDS V=87 N=a res=[edge,http,inbound]
t=+0.0071s C> type=LDS V=87 N=a R=[]
t=+1.16s S< type=LDS V=88 N=b res=[edge#2,http,inbound]
t=+0.212s C> type=LDS V=87 N=b R=[] err="Error adding/updating listener(s) edge: duplicate address" code=13
S< type=LDS V=88 N=c res=[edge#2,http,inbound]
t=+0.003s C> type=LDS V=87 N=c R=[] err="Error adding/updating listener(s) edge: duplicate address" code=13
S< type=LDS V=88 N=d res=[edge#2,http,inbound]
C> type=LDS V=87 N=d R=[] err="Error adding/updating listener(s) edge: duplicate address" code=13
`

// ladderOf draws a script.
func ladderOf(t *testing.T, text string) *Ladder {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, l := check.NewChecker(check.Options{}), NewLadder()
	for e := range s.Entries() {
		c := k.Step(&e)
		l.See(&e, &c)
		l.Add(&e, &c)
	}
	return l
}

func storyLadder() *Ladder {
	l := NewLadder()
	for _, s := range story() {
		l.See(&s.e, &s.c)
		l.Add(&s.e, &s.c)
	}
	return l
}

func TestLadder(t *testing.T) {
	for name, l := range map[string]*Ladder{"story": storyLadder(), "rejections": ladderOf(t, rejections)} {
		golden.Is(t, "testdata/ladder-"+name+".txt", l.Text(LadderForm{}))
		golden.Is(t, "testdata/ladder-"+name+"-ascii.txt", l.Text(LadderForm{Columns: 100, ASCII: true}))
		golden.Is(t, "testdata/ladder-"+name+".mmd", l.Mermaid())
	}
}

// However narrow or wide, no line is longer, each says whose it is, and colour
// adds no words.
func TestLadderFits(t *testing.T) {
	for _, l := range []*Ladder{storyLadder(), ladderOf(t, rejections), NewLadder()} {
		for _, columns := range []int{60, 72, 80, 100, 132, 200} {
			form := LadderForm{Columns: columns}
			plain := l.Lines(form)
			form.Style.Color = true
			for i, line := range l.Lines(form) {
				if Width(plain[i].Text) > columns {
					t.Errorf("%d columns: %d: %s", columns, Width(plain[i].Text), plain[i].Text)
				}
				if got := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(line.Text, ""); got != plain[i].Text {
					t.Errorf("with colour:\n%q, without:\n%q", got, plain[i].Text)
				}
				if (line.Kind == LadderHead) != (line.Seq == 0) {
					t.Errorf("%q is of entry %d", line.Text, line.Seq)
				}
			}
		}
	}
}

func FuzzLadder(f *testing.F) {
	f.Add("gw-0", "v1", "duplicate address", uint8(80))
	f.Add("end", ";\n#59;", "<script>alert(1)</script>", uint8(61))
	f.Add("ﬂ°°60¶ß", "#", "a#b", uint8(99))
	f.Add("a\x1b[2J", "%%{init: {}}%%", "`\"--> ", uint8(0))
	f.Fuzz(func(t *testing.T, client, version, message string, columns uint8) {
		l := NewLadder()
		for _, s := range story() {
			if s.c.Client != "" {
				s.c.Client = client
			}
			if m := s.c.Message; m != nil {
				m.Version = version
				if m.Error != nil {
					m.Error.Message = message
				}
			}
			l.See(&s.e, &s.c)
			l.Add(&s.e, &s.c)
		}
		for _, line := range l.Lines(LadderForm{Columns: int(columns), ASCII: columns%2 == 0}) {
			if Width(line.Text) > max(int(columns), minLadder) && columns > 0 || Safe(line.Text) != line.Text {
				t.Fatalf("%d columns: %q", columns, line.Text)
			}
		}
		if text := l.Mermaid(); !mermaidForm(text) {
			t.Fatalf("%q", text)
		}
	})
}

// mermaidForm says whether a diagram consists of the lines that we write and
// of nothing else.
func mermaidForm(text string) bool {
	const words = `(?:[^\x00-\x1f\x7f"#$%&:;<>@\[\]\\^` + "`" + `{|}]|#\d+;)+`
	whole := regexp.MustCompile(`^sequenceDiagram\n( {4}participant (C\d|P|S) as ` + words + `\n){3,11}( {4}(C\d->>S|C\d-xS|S->>C\d|Note over P,S): ` + words + `\n)+$`)
	return whole.MatchString(text) && !strings.Contains(strings.ReplaceAll(text, "->>", ""), "--")
}

// What Mermaid itself reads out of a hostile diagram is the lines that were
// put in. It runs where MERMAID names a directory with the npm packages mermaid
// and jsdom.
func TestMermaidReadsIt(t *testing.T) {
	dir := os.Getenv("MERMAID")
	if dir == "" {
		t.Skip("MERMAID does not name a directory with the npm packages mermaid and jsdom")
	}
	var b strings.Builder
	hostile := []string{
		"end", "; C->>S: owned", "#59;x", "<script>alert(1)</script>", "a\nb", "%%{init: {\"theme\":\"dark\"}}%%", "--> x", "wrap: y", "style a: b#c;",
		"`code`", "\"quoted\"", "loop forever", "{json}", "&lt;b&gt;", "$$x$$", "a,b", "", "-", "--", "title x", "accTitle: y", "é ü 漢", "classDef a:b#c;", "$$\\frac{1}{2}$$",
	}
	fmt.Fprintf(&b, "sequenceDiagram\n    participant C as %s\n    participant S as %s\n", MermaidText(hostile[0]), MermaidText(hostile[1]))
	for _, h := range hostile {
		fmt.Fprintf(&b, "    C->>S: %s\n    Note over C,S: %s\n", MermaidText(h), MermaidText(h))
	}
	for _, text := range []string{b.String(), storyLadder().Mermaid(), ladderOf(t, rejections).Mermaid()} {
		cmd := exec.Command("node", "--input-type=module", "-e", `
import { createRequire } from 'module';
const require = createRequire(process.cwd() + '/');
const { JSDOM } = require('jsdom');
const dom = new JSDOM('<!DOCTYPE html><body></body>');
globalThis.window = dom.window; globalThis.document = dom.window.document;
const mermaid = (await import(process.cwd() + '/node_modules/mermaid/dist/mermaid.core.mjs')).default;
let text = ''; for await (const c of process.stdin) text += c;
await mermaid.parse(text);
const d = await mermaid.mermaidAPI.getDiagramFromText(text);
for (const m of d.db.getMessages()) console.log(JSON.stringify(m.message));
`)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(text)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, text)
		}
		if got, want := strings.Count(string(out), "\n"), strings.Count(text, ">>")+strings.Count(text, "-x")+strings.Count(text, "Note over"); got != want {
			t.Errorf("%d messages, not %d:\n%s\n%s", got, want, text, out)
		}
		t.Logf("%s", out)
	}
}

// What was drawn last is the sign and the label of the last step, with its type; an arrow
// lists up to three names.
func TestLadderLast(t *testing.T) {
	if sign, label := NewLadder().Last(); sign != "" || label != "" {
		t.Errorf("of nothing it is %q %q", sign, label)
	}
	const asked = "C> type=EDS V= N= R=[%s] node=gw-0\n"
	for text, want := range map[string]string{
		fmt.Sprintf(asked, "a"):       " SUB EDS a",
		fmt.Sprintf(asked, "a,b,c"):   " SUB EDS a b c",
		fmt.Sprintf(asked, "a,b,c,d"): " SUB EDS 4 names",
		rejections:                    "! NACK LDS 88 keeps 87  Error adding/updating listener(s) edge: duplicate address",
	} {
		sign, label := ladderOf(t, text).Last()
		if got := sign + " " + label; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// So many clients have a line of their own in a diagram of Mermaid; others share one.
func TestMermaidOfManyClients(t *testing.T) {
	of := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "-- stream %d\nC> type=CDS V= N= R=[] node=gw-%d\n", i+1, i+1)
		}
		return ladderOf(t, text.String()).Mermaid()
	}
	for n, others := range map[int]int{mermaidClients: 0, mermaidClients + 1: 1, mermaidClients + 3: 3} {
		text := of(n)
		if got := strings.Count(text, "    participant C0 as other clients\n"); got != min(others, 1) {
			t.Errorf("%d clients: %d lines for others\n%s", n, got, text)
		}
		if got := strings.Count(text, "    participant C"); got != min(n, mermaidClients+1) {
			t.Errorf("%d clients have %d lines", n, got)
		}
		if got := strings.Count(text, "    C0->>S: SUB"); got != others {
			t.Errorf("of %d clients %d are others", n, got)
		}
		if !strings.Contains(text, fmt.Sprintf("    C%d->>S: SUB", mermaidClients)) || !mermaidForm(text) {
			t.Errorf("%d clients:\n%s", n, text)
		}
	}
}
