package check_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever a conversation is, no rule panics, and all findings are whole. The
// bytes choose the time and the stream of the entries of a script, and break
// messages.
func FuzzRules(f *testing.F) {
	files, err := filepath.Glob("testdata/catalogue/*.positive.xds")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte{1, 0, 9, 2, 0, 0})
		f.Add(text, []byte{5, 255, 55, 0, 0, 0})          // 291 years later
		f.Add(text, []byte{3, 8, 55, 4, 4, 55, 5, 8, 55}) // some years that could be
	}
	rules := everyRule(f)
	f.Fuzz(func(t *testing.T, text, twist []byte) {
		s, err := script.Parse("fuzz.xds", text)
		if err != nil {
			return
		}
		k := check.NewChecker(check.Options{Rules: rules})
		for e := range s.Entries() {
			for i := 0; i+2 < len(twist) && len(twist) > 0; i += 3 {
				if int(twist[i]) != int(e.Seq)%len(twist) {
					continue
				}
				e.Time = e.Time.Add(time.Duration(twist[i+1]) << (twist[i+2] % 64))
				e.Stream ^= session.StreamID(twist[i+2] & 1)
				if m := e.Message; m != nil && len(m.Data) > 0 && len(m.Data[0]) > 0 {
					broken := append([]byte(nil), m.Data.Bytes()...)
					broken[int(twist[i+1])%len(broken)] ^= twist[i+2]
					m.Data = session.Chunks{broken}
				}
			}
			k.Step(&e)
		}
		for _, found := range k.Findings() {
			if found.Message == "" || len(found.Seqs) == 0 || found.Count < 1 {
				t.Errorf("%s: %+v", found.Rule.ID, found)
			}
		}
	})
}
