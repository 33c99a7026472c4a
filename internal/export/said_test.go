package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/session"
)

// Entries are counted from 1 on; what is no number is a rule.
func TestArgumentsOfAReport(t *testing.T) {
	rules, seqs, err := reportArguments([]string{"1", "nack-received", "9223372036854775807"})
	if err != nil || fmt.Sprint(rules) != "[nack-received]" || fmt.Sprint(seqs) != fmt.Sprint([]session.Seq{1, 1<<63 - 1}) {
		t.Errorf("%v, %v, %v", rules, seqs, err)
	}
	for _, arg := range []string{"0", "-1", "9223372036854775808", "nack"} {
		if rules, seqs, err := reportArguments([]string{arg}); err == nil || rules != nil || seqs != nil || !strings.Contains(err.Error(), "is neither the number of an entry nor a rule") {
			t.Errorf("%s: %v, %v, %v", arg, rules, seqs, err)
		}
	}
}

// full is a writer that has no room.
type full struct{}

var errFull = errors.New("there is no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

// That a script cannot be written is an error, even of one that is short.
func TestScriptWithoutRoom(t *testing.T) {
	o := &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &strings.Builder{}}}
	x := Export{Form: formScript, Opener: o, Inside: true}
	for _, source := range []string{sessionFile("grpc-go-nack"), newDesk(t).recorded("short.xdsp", spoken)} {
		if err := x.Run(t.Context(), []string{source}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// late is a file that says only when it is closed that it has no room.
type late struct{ *os.File }

func (l late) Close() error { return errors.Join(l.File.Close(), errFull) }

// That a file of text could not be written to its end is an error, and it is not left as
// if it were whole.
func TestTextWithoutRoom(t *testing.T) {
	var said strings.Builder
	o := &input.Opener{Console: &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}}
	x := Export{Form: "csv", Opener: o, Name: sessionFile("grpc-go-nack"), Path: filepath.Join(t.TempDir(), "a.csv"), Inside: true}
	f, err := os.Create(x.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.textTo(t.Context(), f, late{f}); !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "cannot write csv: ") || strings.Contains(said.String(), "wrote") {
		t.Errorf("%v; %s", err, said.String())
	}
	if _, err := os.Stat(x.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// Who asks for types in what is written has to say which.
func TestEmbeddedTypes(t *testing.T) {
	x := Export{Form: FormRecording, Path: filepath.Join(t.TempDir(), "a.xdsp"), Embed: true, EmbedAsked: true, Bare: true, Filter: "kind:nack"}
	if _, _, err := export(t, x, sessionFile("envoy-sotw-nack")); err == nil || !strings.Contains(err.Error(), "no type is described that is not built in") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(x.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// Of files in a folder that nothing refers to ten are named, and the others are counted.
func TestUnusedFilesOfAFolder(t *testing.T) {
	for n, want := range map[int]string{10: "", 11: "no entry refers to 1 other file either", 13: "no entry refers to 3 other files either"} {
		dir := t.TempDir()
		from, to := filepath.Join(dir, "folder"), filepath.Join(dir, "edited.xdsp")
		if _, _, err := export(t, Export{Form: formFolder, Path: from}, sessionFile("grpc-go-nack")); err != nil {
			t.Fatal(err)
		}
		var some string // a directory that holds what entries refer to
		if err := filepath.WalkDir(from, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.IsDir() && path != from {
				some = path
			}
			return err
		}); err != nil || some == "" {
			t.Fatalf("%q, %v", some, err)
		}
		for i := range n {
			if err := os.WriteFile(filepath.Join(some, fmt.Sprintf("unused-%02d.yaml", i)), []byte("a: b\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var said strings.Builder
		c := &console.Console{Ctx: t.Context(), Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}
		if err := ImportFolder(t.Context(), c, from, to); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		if named := strings.Count(said.String(), ": no entry refers to it"); named != 10 || strings.Contains(said.String(), " either") != (want != "") || !strings.Contains(said.String(), want) {
			t.Errorf("of %d files %d are named: %s", n, named, said.String())
		}
	}
}
