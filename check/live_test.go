package check_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is found while a session is being recorded is what is found in the
// recording, and what was found at once: on every conversation there is.
func TestLiveIsLikeAFile(t *testing.T) {
	var files []string
	for _, pattern := range []string{"testdata/catalogue/*.xds", "testdata/clients/*.xds", "testdata/stories/*.xds"} {
		some, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	all := everyRule(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			s := scriptIn(t, file)
			path := filepath.Join(t.TempDir(), "x.xdsp")
			masker := mask.New()
			log, err := recorder.Create(path, recorder.Options{NoTicks: true, Masked: true, Transform: masker.Transform, Content: masker.Content})
			if err != nil {
				t.Fatal(err)
			}
			live, err := log.Reader()
			if err != nil {
				t.Fatal(err)
			}
			live.Follow(true)
			found := make(chan []check.Finding)
			go func() { found <- findings(t, live, all) }()
			for e := range s.Entries() {
				log.Append(e)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			onTheWay := <-found
			later, err := recorder.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			inFile := findings(t, later, all)
			if !reflect.DeepEqual(onTheWay, inFile) {
				t.Errorf("live: %s\nfile: %s", words(onTheWay), words(inFile))
			}
		})
	}
}

// findings reads to the end, and closes the reader. Each finding must have been
// told when it was proved.
func findings(t testing.TB, r *recorder.Reader, rules []*check.Rule) []check.Finding {
	defer r.Close()
	k := check.NewChecker(check.Options{Rules: rules})
	told := map[string]bool{}
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Error(err)
			break
		}
		for _, f := range k.Step(&e).Findings {
			told[f.Rule.ID+f.Severity.String()] = true
		}
	}
	for _, f := range k.Findings() {
		if !told[f.Rule.ID+f.Severity.String()] {
			t.Errorf("%s was not told when it was proved", f.Rule.ID)
		}
	}
	return k.Findings()
}

// After a gap the rules that need what was lost are silent, until it is known
// again where the stream stands.
func TestGapMakesSilent(t *testing.T) {
	all := everyRule(t)
	files, err := filepath.Glob("testdata/catalogue/*.positive.xds")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		s := scriptIn(t, file)
		// Every entry once lost: what is left over proves nothing that the
		// whole does not prove.
		whole := map[string]bool{}
		for _, f := range judge(t, file, all) {
			whole[f.Rule.ID] = true
		}
		length := 0
		for range s.Entries() {
			length++
		}
		for lost := 1; lost <= length; lost++ {
			k := check.NewChecker(check.Options{Rules: all})
			for e := range s.Entries() {
				if int(e.Seq) == lost {
					if e.Kind != session.KindMessage {
						break // streams that begin unseen are another matter
					}
					e = session.Entry{Seq: e.Seq, Time: e.Time, Kind: session.KindGap, Gap: &session.Gap{
						First: e.Seq, Last: e.Seq, Entries: 1, Streams: []session.StreamID{e.Stream},
					}}
				}
				k.Step(&e)
			}
			for _, f := range k.Findings() {
				if !whole[f.Rule.ID] && f.Severity != check.Info {
					t.Errorf("%s without entry %d: %s %s: %s", filepath.Base(file), lost, f.Severity, f.Rule.ID, f.Message)
				}
			}
		}
	}
}
