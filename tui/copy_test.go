package tui

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
)

// copied is what a command puts into the clipboard.
func copied(tb testing.TB, cmd tea.Cmd) (text string, told []string) {
	tb.Helper()
	if cmd == nil {
		return "", nil
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			t, s := copied(tb, c)
			text, told = text+t, append(told, s...)
		}
	case view.Said:
		told = append(told, msg.Text)
	case nil:
	default:
		if fmt.Sprintf("%T", msg) == "tea.setClipboardMsg" {
			text = fmt.Sprint(msg)
		}
	}
	return text, told
}

func TestCopy(t *testing.T) {
	dir := t.TempDir()
	d := drive(t, fileSource(sessionPath("demo")), 80, 24, Options{Theme: "mono"})
	t.Setenv("TMPDIR", dir)
	if got, _ := copied(t, d.m.Copy("short", "it")); got != "short" {
		t.Errorf("copied %q", got)
	}
	if got := d.m.events.all[len(d.m.events.all)-1].text; got != "copied it, 5 B; whether it takes that is up to the terminal (OSC 52)" {
		t.Errorf("of a copy it says %q", got)
	}
	d.m.Copy("one\ntwo\n", "it")
	if got := d.m.events.all[len(d.m.events.all)-1].text; !strings.HasPrefix(got, "copied it, 8 B in 2 lines; ") {
		t.Errorf("of two lines it says %q", got)
	}
	if got, _ := copied(t, d.m.Copy("", "it")); got != "" {
		t.Errorf("nothing was copied as %q", got)
	}
	long := strings.Repeat("x", maxClipboard+1)
	path, said := copied(t, d.m.Copy(long, "it"))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(path) != dir {
		t.Fatalf("a long text is in %q: %v, %v", path, info, err)
	}
	if len(said) != 1 || !strings.Contains(said[0], path) {
		t.Errorf("of the file it says %q", said)
	}
	if b, _ := os.ReadFile(path); string(b) != long {
		t.Errorf("the file has %d bytes", len(b))
	}
	longer := strings.Repeat("x", sureAbove+1)
	if cmd := d.m.Copy(longer, "it"); cmd != nil {
		t.Error("a very long text is copied without being asked for twice")
	}
	if path, _ := copied(t, d.m.Copy(longer, "it")); path == "" {
		t.Error("asked for twice, a very long text is not copied")
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, said := copied(t, d.m.Copy(long, "it")); len(said) != 1 || !strings.Contains(said[0], "cannot copy it") {
		t.Errorf("without a place for the file it says %q", said)
	}
}

// TestCopyUnderCursor: y takes the value of a line, or all that is below it.
func TestCopyUnderCursor(t *testing.T) {
	d := openAt(t, "demo", 46, 80, 24)
	d.press("enter")
	v := d.m.top().(*detail.View)
	for _, tc := range []struct {
		form detail.Form
		line string // that the cursor is on
		want string
	}{
		{detail.FormSummary, "version_info", "5"},
		{detail.FormYAML, "version_info:", "5"},
		{detail.FormYAML, "name: search", "search"},
		{detail.FormYAML, "eds_config:", "eds_config:\n  ads: {}\n  resource_api_version: V3\n"},
		{detail.FormJSON, `"connect_timeout": "0s"`, "0s"},
		{detail.FormJSON, `"eds_config": {`, "\"eds_config\": {\n  \"ads\": {},\n  \"resource_api_version\": \"V3\"\n"},
		{detail.FormWire, "lb_policy", "1 LEAST_REQUEST"},
		{detail.FormDiff, "+ connect_timeout", "0s"},
	} {
		v.Form = tc.form
		d.look()
		for i := range v.Pane.Lines {
			if strings.Contains(v.Pane.Lines[i].PlainText(), tc.line) {
				v.Pane.Show(i)
				break
			}
		}
		if got, _ := copied(t, v.Copy(d.m)); got != tc.want {
			t.Errorf("%v, at %q: %q, want %q", tc.form, tc.line, got, tc.want)
		}
	}
}

// TestCopyAs copies a request in all forms, through the menu.
func TestCopyAs(t *testing.T) {
	d := openAt(t, "envoy-sotw-nack", 20, 80, 24)
	d.press("Y")
	d.golden("copy-as")
	got := make(map[string]string)
	for i, name := range []string{"row", "yaml", "json", "names", "link", "grpcurl"} {
		menu := d.m.top()
		for range i {
			menu.Do(d.m, key.Down)
		}
		ready := menu.Do(d.m, key.Open)().(view.Reply).Msg
		got[name], _ = copied(t, menu.Handle(d.m, ready))
		if d.m.top() == menu {
			t.Errorf("the menu stays after %s", name)
		}
		d.press("Y")
	}
	for form, want := range map[string]string{
		"row": "20 13:32:40.", "yaml": "version_info: \"1\"\nresource_names:\n", "json": `"resource_names": [`,
		"names": "broken\nweb\n", "link": "xdsproxy show envoy-sotw-nack.xdsp 20",
		"grpcurl": "envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	} {
		if !strings.Contains(got[form], want) {
			t.Errorf("%s is %q, want %q in it", form, got[form], want)
		}
	}
	_, rest, _ := strings.Cut(got["grpcurl"], "-plaintext -d '")
	body, _, _ := strings.Cut(rest, "' ")
	var sent map[string]any
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatalf("%v in %q", err, got["grpcurl"])
	}
	if sent["node"] == nil || sent["response_nonce"] != nil || sent["resource_names"] == nil {
		t.Errorf("grpcurl sends %v", sent)
	}
	d.press("esc")
	if d.m.top() != view.View(d.m.timeline) {
		t.Error("escape does not close the menu")
	}
	d.press("]")
	d.m.events.answered()
	d.press("Y")
	if d.m.timeline.At != 21 {
		t.Fatalf("at %d", d.m.timeline.At)
	}
	if got := d.frame(); strings.Contains(got, "grpcurl") {
		t.Errorf("a response can be sent as a request:\n%s", got)
	}
}

func TestScreenText(t *testing.T) {
	d := openAt(t, "demo", 41, 80, 24)
	text := d.m.screenText()
	if !strings.Contains(text, "demo-envoy") || strings.Contains(text, " \n") || strings.Contains(text, "\x1b") {
		t.Errorf("the screen is copied as\n%s", text)
	}
}
