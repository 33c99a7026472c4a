package check_test

import (
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever times a recording tells, the rules come to an end: of each story,
// with an entry in 292 years after each of its own, and then with years between
// them.
func TestHostileTimes(t *testing.T) {
	files, err := filepath.Glob("testdata/catalogue/*.xds")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		s := scriptIn(t, file)
		k := check.NewChecker(check.Options{Rules: everyRule(t)})
		plain := check.NewChecker(check.Options{Rules: everyRule(t)})
		for e := range s.Entries() {
			again := e
			plain.Step(&again)
			k.Step(&e)
			far := session.Entry{Seq: e.Seq, Time: time.Unix(0, math.MaxInt64), Kind: session.KindTime}
			k.Step(&far)
			if len(far.Problems) != 1 || k.Now.Year() > 2100 {
				t.Fatalf("%s: problems %q, and the time is %v", file, far.Problems, k.Now)
			}
		}
		if got, want := len(k.Findings()), len(plain.Findings()); got != want {
			t.Errorf("%s: %d findings, and %d without the times that cannot be", file, got, want)
		}
		for e := range s.Entries() {
			late := k.Now.AddDate(9, 0, 0)
			if e.Stream, e.Conn = e.Stream+100, e.Conn+100; late.Year() < 2100 {
				e.Time = late
			}
			k.Step(&e)
		}
	}
}
