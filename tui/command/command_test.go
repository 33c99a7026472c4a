package command_test

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/command"
	"github.com/xdsproxy/xdsproxy/tui/prompt"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

func table(got *[]string) command.Table {
	do := func(name string) func(string) (tea.Cmd, error) {
		return func(arg string) (tea.Cmd, error) {
			*got = append(*got, strings.TrimSpace(name+" "+arg))
			return nil, nil
		}
	}
	return command.Table{
		{Name: "events", Do: do("events")},
		{Name: "explain", Args: "[RULE]", Do: do("explain"), Words: command.RuleIDs},
		{Name: "goto", Args: "SEQ|TIME", Do: do("goto")},
		{Name: "quit", Do: do("quit")},
	}
}

func press(t *testing.T, p *prompt.Prompt, keys ...string) {
	t.Helper()
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		if k == "tab" {
			msg = tea.KeyPressMsg{Code: tea.KeyTab}
		}
		if _, done, _ := p.Key(msg); done {
			t.Fatalf("%q ends the prompt", k)
		}
	}
}

// What follows a command that was completed can be typed at once.
func TestCompletionEndsWithItsSpace(t *testing.T) {
	var got []string
	l := table(&got).Language()
	for _, c := range []struct{ keys, want string }{
		{"ex tab", "explain"},
		{"ex tab n a c k - r tab", "explain nack-received"},
		{"e tab", "events"},
		{"e tab tab", "explain"},
		{"g tab 1 7", "goto 17"},
		{"q tab", "quit"},
	} {
		p, _ := prompt.New(view.CommandPrompt, "", l)
		for _, k := range strings.Fields(c.keys) {
			if k == "tab" {
				press(t, p, k)
				continue
			}
			for _, r := range k {
				press(t, p, string(r))
			}
		}
		if p.Value() != c.want {
			t.Errorf("%s gives %q, want %q", c.keys, p.Value(), c.want)
		}
	}
}

func TestRun(t *testing.T) {
	var got []string
	all := table(&got)
	for _, text := range []string{"17", "goto 08:25", "explain  nack-received ", "q", ""} {
		if _, err := all.Run(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if have := strings.Join(got, "|"); have != "goto 17|goto 08:25|explain nack-received|quit" {
		t.Errorf("what was typed did %s", have)
	}
	if _, err := all.Run("explian x"); err == nil || !strings.Contains(err.Error(), `did you mean "explain"?`) {
		t.Errorf("a mistyped command: %v", err)
	}
}

// A time leads to the first entry then or later, and says which that is.
func TestEntryByTime(t *testing.T) {
	scr := viewtest.New(t, viewtest.File("../../check/testdata/sessions/demo.xdsp")).Read(t)
	x := scr.Log().Index
	_, end := x.Last()
	var before session.Seq
	for i := range x.Len() {
		r, _ := x.Row(i)
		for _, form := range []string{"15:04", "15:04:05", "2006-01-02T15:04:05"} {
			arg := r.At().UTC().Format(form)
			seq, said, err := command.Entry(arg, x)
			if err != nil || !strings.Contains(said, arg) {
				t.Fatalf("%s: %v, %q", arg, err, said)
			}
			got, _ := x.BySeq(seq)
			if seq > r.Seq || got.At().UTC().Format(form) != arg {
				t.Errorf("%s leads to %d at %s, and %d is then, too", arg, seq, got.At(), r.Seq)
			}
		}
		if r.Seq < before {
			t.Fatal("the rows are not in order")
		}
		before = r.Seq
	}
	if seq, said, err := command.Entry("00:00", x); seq != 1 || err != nil {
		t.Errorf("before the beginning is %d, %q, %v", seq, said, err)
	}
	if seq, said, err := command.Entry("17", x); seq != 17 || said != "" || err != nil {
		t.Errorf("17 is %d, %q, %v", seq, said, err)
	}
	for _, arg := range []string{"", "0", "25:61", "soon", "08:25 -kind:ack"} {
		if _, _, err := command.Entry(arg, x); err == nil {
			t.Errorf("%q is an entry", arg)
		}
	}
	if _, _, err := command.Entry(end.UTC().AddDate(0, 0, 1).Format("2006-01-02"), x); err == nil || !strings.Contains(err.Error(), "the last entry is of") {
		t.Errorf("the day after: %v", err)
	}
}

// What begins with a digit is no number for that.
func TestNumbers(t *testing.T) {
	var got []string
	c := table(&got)
	for text, is := range map[string]bool{"17": true, "0": true, "18446744073709551615": true, "18446744073709551616": false, "1a": false, "a": false, "-1": false} {
		got = nil
		if _, err := c.Run(text); (err == nil) != is || is && got[0] != "goto "+text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
