package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.yaml.in/yaml/v3"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/pseudonym"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// nastyRecording has such characters in every text that a peer chooses.
func nastyRecording(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/nasty.xds")
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse("nasty.xds", xdstest.NastyScript(text))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), strings.ReplaceAll(xdstest.Nasty, "\x00", "")+".xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, Labels: store.NewLabels().Of})
	if err != nil {
		t.Skip("no file can have such a name: ", err)
	}
	for e := range s.Entries() {
		xdstest.MakeNasty(&e)
		log.Append(e)
	}
	const worse = xdstest.Nastier
	for _, code := range []session.NoteCode{session.NoteBlind, session.NoteMark, session.NoteRemark, session.NoteCode(worse)} {
		log.Append(session.Entry{Conn: 1, Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{Code: code, Text: worse, Hint: worse, About: 3}})
	}
	log.Append(session.Entry{Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindTrailer, Status: &session.Status{Code: 14, Message: worse}, Headers: []session.Field{{Name: "grpc-message", Value: worse}}})
	log.Append(session.Entry{Conn: 1, Side: session.Server, Kind: session.KindGoAway, GoAway: &session.GoAway{Debug: worse}})
	log.Append(session.Entry{Conn: 1, Side: session.Server, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: worse}})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// nastyStories are a story of each rule, as far as there is one, with such
// characters in every name.
func nastyStories(t *testing.T) []string {
	t.Helper()
	name := regexp.MustCompile(`([\[,{= ])([a-z]\d+)([\],}{#~/ \n])`)
	dir := t.TempDir()
	var paths []string
	for _, rule := range check.Rules() {
		of, err := filepath.Glob("../../check/testdata/stories/" + rule.ID + "*.xds")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range of {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // neighbours share the sign between them
				text = name.ReplaceAll(text, xdstest.NastyScript([]byte(`$1"$2NASTY"$3`)))
			}
			if _, err := script.Parse(path, text); err != nil || bytes.HasPrefix(text, []byte("# silent")) {
				continue
			}
			to := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(to, text, 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, to)
			break
		}
	}
	if len(paths) < len(check.Rules())*2/3 {
		t.Fatalf("only %d of %d rules have a story that can be read", len(paths), len(check.Rules()))
	}
	return paths
}

// Whatever peers write, no command prints a character of theirs that a terminal
// would obey. The commands and their forms are the program's own: one that is
// new has to say here how it is run.
func TestNothingUnprintable(t *testing.T) {
	for _, v := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "HOME"} {
		t.Setenv(v, t.TempDir())
	}
	t.Setenv("SHELL", "/bin/sh")
	path, stories := nastyRecording(t), nastyStories(t)
	client, zipped := "n1"+xdstest.Nasty, filepath.Join(t.TempDir(), "x.zip")
	key := filepath.Join(t.TempDir(), "key")
	if err := pseudonym.NewKey().Save(key); err != nil {
		t.Fatal(err)
	}
	many := t.TempDir()
	below := filepath.Join(many, "proxy="+strings.NewReplacer("/", "", "\x00", "").Replace(xdstest.Nasty))
	if b, err := os.ReadFile(path); err != nil || os.Mkdir(below, 0o700) != nil || os.WriteFile(filepath.Join(below, "x.xdsp"), b, 0o600) != nil || os.WriteFile(filepath.Join(below, "y.xdsp"), nil, 0o600) != nil {
		t.Fatal("there is no directory of a nasty name")
	}
	runs := map[string][][]string{
		"reveal":  {{key, xdstest.Nastier}},
		"watch":   {{path, "--no-follow"}, {path, "--no-follow", "--filter", "kind:nack"}, {many}},
		"show":    {{path, "1.."}, {path}, {many, "1"}},
		"diff":    {{path, "c1" + xdstest.Nasty}, {path, "c1" + xdstest.Nasty, "--all"}, {path, "11", "13"}, {path, path, "--all"}, {path, stories[0], "--all"}, {path, xdstest.Nasty}},
		"info":    {{path}, {path, "--all"}, {many}},
		"export":  {{path, "-w", "-"}, {path, "-w", "-", "--seq", "3..9"}, {path, "-w", "-", "--client", client}},
		"report":  {{path, "3", "8", "--yes", "-w", zipped}, {stories[0], "--yes", "-w", filepath.Join(t.TempDir(), "y.zip")}},
		"import":  {{path, "-w", filepath.Join(t.TempDir(), "x.xdsp")}},
		"check":   {{path, "--info", "--enable", "all"}, append([]string{"--info", "--enable", "all", path}, stories...), {many, "--info"}},
		"status":  {{path}, {path, "--at", "12"}, {many}},
		"pushes":  {{path}, {path, "1"}, {stories[0]}},
		"tree":    {{path, client}, {path}, {path, xdstest.Nasty}},
		"explain": {{}, {xdstest.Nasty}},
		"replay":  {{path, "--as", "client", "--target", "127.0.0.1:1", "--idle", "100ms"}, {path, "--as", "server", "--listen", "127.0.0.1:0", "--client", client, "--idle", "100ms"}},
		"bisect":  {{path, "--listen", "127.0.0.1:0", "--wait", "100ms"}, {path, "--listen", xdstest.Nasty}},
		"config":  {{}},
		"version": {{}},
		"open":    {{path}}, // no terminal; the screen has a test of its own
		// Both serve, and print nothing of a peer: mcp has what the others print for
		// machines, serve-csds messages.
		"mcp":        {{path}},
		"serve-csds": {{path, "--listen", xdstest.Nasty}},
		"help":       {{}, {xdstest.Nasty}},
	}
	a := &cli{ctx: context.Background(), stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	a.config = settings.New()
	for _, cmd := range newRoot(a).Commands() {
		if cmd.GroupID == commandsRecord {
			continue
		}
		ways, known := runs[cmd.Name()]
		if !known {
			t.Errorf("nobody says how %s is run", cmd.Name())
		}
		forms := []string{""}
		if f := cmd.Flags().Lookup("output"); f != nil {
			forms = f.Value.(settings.Choice).Of
		}
		for _, form := range forms {
			if slices.Contains([]string{"xdsp", "dir", "pcapng", "binarylog", "parquet"}, form) {
				continue // no text
			}
			ways := ways
			if form == "bootstrap" { // some of the stories are of clients that accepted something
				for _, story := range stories {
					ways = append(slices.Clip(ways), []string{story, "-w", "-"})
				}
			}
			printed := 0
			for _, colour := range []string{"never", "always"} {
				for _, way := range ways {
					args := append([]string{cmd.Name(), "--color", colour}, way...)
					if form != "" {
						args = append(args, "-o", form)
					}
					printed += looksHarmless(t, args, form)
				}
			}
			if printed == 0 && !slices.Contains([]string{"open", "import", "bisect", "report", "mcp", "serve-csds"}, cmd.Name()) {
				t.Errorf("%s %s printed nothing", cmd.Name(), form)
			}
		}
	}
	looksHarmless(t, []string{"export", "--color", "never", path, stories[0], "-o", "parquet", "-w", filepath.Join(t.TempDir(), "tables")}, "parquet")
	looksHarmless(t, []string{"export", "--color", "never", path, "-o", "parquet", "-w", filepath.Join(t.TempDir(), xdstest.Nasty)}, "parquet")
	folder := filepath.Join(t.TempDir(), "folder")
	looksHarmless(t, []string{"export", "--color", "never", path, "-o", "dir", "-w", folder}, "dir")
	read := 0
	for f, err := range walkFiles(folder) {
		if err != nil {
			t.Fatal(err)
		}
		if at, found := xdstest.Unprintable(f.name); found {
			t.Errorf("the name of a file in the folder has %s", at)
		}
		if filepath.Ext(f.name) != ".yaml" {
			continue
		}
		read++
		if at, found := xdstest.Unprintable(f.text); found {
			t.Errorf("%s has %s", f.name, at)
		}
	}
	if read < 2 {
		t.Errorf("the folder has %d files of text", read)
	}
	z, err := zip.OpenReader(zipped)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		text, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if at, found := xdstest.Unprintable(string(text)); found && filepath.Ext(f.Name) != ".xdsp" {
			t.Errorf("%s of a report has %s", f.Name, at)
		}
	}
	for _, command := range []string{"tree", "watch", "show", "diff"} {
		looksHarmless(t, []string{"__complete", command, path, ""}, "")
	}
}

type writtenFile struct{ name, text string }

// walkFiles are the files below a directory.
func walkFiles(dir string) iter.Seq2[writtenFile, error] {
	return func(yield func(writtenFile, error) bool) {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			var text []byte
			if err == nil && !d.IsDir() {
				text, err = os.ReadFile(path)
			}
			if name, _ := filepath.Rel(dir, path); (err != nil || !d.IsDir()) && !yield(writtenFile{name, string(text)}, err) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// ourColour is what this program itself writes in colour.
var ourColour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// looksHarmless runs a command and returns how much it has printed.
func looksHarmless(t *testing.T, args []string, form string) int {
	t.Helper()
	var out, said bytes.Buffer
	main1(args, strings.NewReader(""), &out, &said)
	what := strings.Join(args[:1], " ") + " " + form
	text := out.String()
	if args[2] == "always" {
		text = ourColour.ReplaceAllString(text, "")
	}
	if form == "csv" {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if at, found := xdstest.Unprintable(text); found {
		t.Errorf("%s prints %s", what, at)
	}
	if at, found := xdstest.Unprintable(said.String()); found {
		t.Errorf("%s says %s", what, at)
	}
	if out.Len() == 0 {
		return 0
	}
	var dec interface{ Decode(any) error }
	switch form {
	case "yaml":
		dec = yaml.NewDecoder(&out)
	case "json", "sarif", "jsonl":
		dec = json.NewDecoder(&out)
	case "junit":
		if err := xml.Unmarshal(out.Bytes(), new(struct{})); err != nil {
			t.Errorf("%s: no XML: %v", what, err)
		}
	}
	var v any
	for err := error(nil); dec != nil && !errors.Is(err, io.EOF); {
		if err = dec.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("%s: not what it should be: %v", what, err)
		}
	}
	return len(text)
}

// The same of what a live peer says to replay and bisect.
func TestNothingUnprintableOfLivePeers(t *testing.T) {
	path := nastyRecording(t)
	for _, form := range []string{"table", "json"} {
		for _, server := range [][]string{{"replay", "--as", "server"}, {"bisect", "--timeout", "300ms", "--script", filepath.Join(t.TempDir(), "found.xds")}} {
			socket := "unix:" + filepath.Join(t.TempDir(), "s")
			var out, said [2]bytes.Buffer
			cmd := command(t, append(server, path, "--listen", socket, "-o", form)...)
			cmd.Stdout, cmd.Stderr = &out[0], &said[0]
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for range 300 { // until it listens
				out[1].Reset()
				said[1].Reset()
				if code := main1([]string{"replay", path, "--as", "client", "--target", socket, "--idle", "500ms", "-o", form}, strings.NewReader(""), &out[1], &said[1]); code != console.ExitFailed {
					break
				}
				time.Sleep(100 * time.Millisecond)
			}
			_ = cmd.Wait() // it may have found differences
			if out[1].Len() == 0 {
				t.Errorf("%s met nobody: %s", server[0], said[1].String())
			}
			for i := range out {
				for _, text := range []string{out[i].String(), said[i].String()} {
					if at, found := xdstest.Unprintable(text); found {
						t.Errorf("%s %s, %d: %s", server[0], form, i, at)
					}
				}
			}
		}
	}
}

// JSON is the same value when it is read.
func TestUnprintableJSON(t *testing.T) {
	path := nastyRecording(t)
	var out, said bytes.Buffer
	main1([]string{"status", path, "-o", "json"}, strings.NewReader(""), &out, &said)
	var got struct{ Clients []struct{ Client string } }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Clients) == 0 || !slices.ContainsFunc(got.Clients, func(c struct{ Client string }) bool { return c.Client == "n1"+xdstest.Nasty }) {
		t.Errorf("%q", got.Clients)
	}
}

// The program's own log shows what peers wrote as every other output does, in
// fields, messages and hints.
func TestUnprintableLog(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		var said bytes.Buffer
		a := &cli{stderr: &said, config: settings.New()}
		a.config.LogFormat = form
		logger := a.logger(false).With(zap.String("with", xdstest.Nasty))
		logger.Warn(xdstest.Nastier, zap.String("client", xdstest.Nasty), zap.Strings("clients", []string{xdstest.Nasty}), zap.Error(errors.New(xdstest.Nasty)), zap.ByteString("stack", []byte(xdstest.Nasty)), zap.String(xdstest.Nasty, ""), zap.String("hint", xdstest.Nasty))
		logger.Info("no hint", zap.String("client", xdstest.Nasty))
		if at, found := xdstest.Unprintable(strings.ReplaceAll(said.String(), "\t", " ")); found {
			t.Errorf("%s: %s", form, at)
		}
		if form == "text" {
			continue
		}
		var line struct{ Client string }
		if err := json.NewDecoder(&said).Decode(&line); err != nil || line.Client != xdstest.Nasty {
			t.Errorf("%q, %v", line.Client, err)
		}
	}
}
