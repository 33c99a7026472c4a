package input

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

const aSession = "../../check/testdata/sessions/grpc-go.xdsp"

// What is read of a recording is all of it, in order, whichever way it is read, until
// who reads has enough, or stops, or it cannot be read.
func TestReadings(t *testing.T) {
	all := recordertest.Entries(t, aSession)
	o, _ := opening(t, strings.NewReader(""))
	open := func(path string) *Source {
		t.Helper()
		src, err := o.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { src.Close() })
		return src
	}
	var failure error
	n := 0
	for e := range o.Entries(t.Context(), open(aSession), &failure) {
		if n++; e.Seq != all[n-1].Seq {
			t.Errorf("entry %d is %d", n, e.Seq)
		}
	}
	if n != len(all) || failure != nil {
		t.Errorf("%d entries of %d, %v", n, len(all), failure)
	}
	n = 0
	for range o.Entries(t.Context(), open(aSession), &failure) {
		if n++; n == 3 {
			break
		}
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	for range o.Entries(stopped, open(aSession), &failure) {
		t.Error("it goes on")
	}
	if n != 3 || !errors.Is(failure, context.Canceled) {
		t.Errorf("%d entries, %v", n, failure)
	}
	bad := errors.New("bad")
	for _, tc := range []struct {
		at   session.Seq
		ends error
		want error
		n    int
	}{{0, nil, nil, len(all)}, {4, ErrEnough, nil, 4}, {5, bad, bad, 5}} {
		n = 0
		err := o.Each(t.Context(), open(aSession), check.NewTracker(nil), func(e *session.Entry, c *check.Change) error {
			if n++; e.Seq == tc.at {
				return tc.ends
			}
			return nil
		})
		if n != tc.n || !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%d entries, %v", n, err)
		}
	}
	src := open(aSession)
	var met []string
	more, err := src.Clients(t.Context(), func(id string) { met = append(met, id) })
	slices.Sort(met)
	if met = slices.Compact(met); len(met) != 1 || more || err != nil {
		t.Errorf("%q, more %t, %v", met, more, err)
	}
	if got := open(aSession).Header(); got.Created.IsZero() {
		t.Errorf("%+v", got)
	}
}

// Of a file what is beside it is known, and it can be opened once more.
func TestSourceOfAFile(t *testing.T) {
	all := recordertest.Entries(t, aSession)
	o, _ := opening(t, strings.NewReader(""))
	src, err := o.Open(aSession)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	first, err := src.First(t.Context())
	if err != nil || first.Seq != all[0].Seq {
		t.Fatal(first, err)
	}
	for i := range 2 { // the first is given again, once
		if e, err := src.Next(t.Context()); err != nil || e.Seq != all[i].Seq {
			t.Errorf("%d, %v", e.Seq, err)
		}
	}
	if requests, bytes := src.Fetched(); requests != 0 || bytes != 0 || src.IsFar() || src.Whole() != nil {
		t.Errorf("%d requests, %d bytes", requests, bytes)
	}
	if narrowed, err := src.Aim(nil); narrowed || err != nil {
		t.Errorf("%t, %v", narrowed, err)
	}
	if facts := src.All(); facts.LastSeq != all[len(all)-1].Seq || facts.Path == "" {
		t.Errorf("%+v", facts)
	}
	if began := src.Began(); began.IsZero() || src.Notes() == nil {
		t.Errorf("it began %v", began)
	}
	again, err := src.Again()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if e, err := again.Next(t.Context()); err != nil || e.Seq != all[0].Seq {
		t.Errorf("%d, %v", e.Seq, err)
	}
	for _, tc := range []struct {
		at    time.Time
		want  session.Seq
		there bool
	}{
		{all[0].Time, all[0].Seq, true},
		{all[0].Time.Add(-time.Hour), all[0].Seq, true},
		{all[len(all)-1].Time, 0, true},
		{all[len(all)-1].Time.Add(1), all[len(all)-1].Seq + 1, false},
	} {
		want := tc.want
		if want == 0 { // the first of those at this time
			want = all[slices.IndexFunc(all, func(e session.Entry) bool { return !e.Time.Before(tc.at) })].Seq
		}
		if seq, there, err := src.find(t.Context(), tc.at); seq != want || there != tc.there || err != nil {
			t.Errorf("at %v is %d, not %d: %t, %v", tc.at, seq, want, there, err)
		}
	}
	pipe := &Source{Reader: src.Reader}
	if seq, there, err := pipe.find(t.Context(), all[3].Time); seq != 1 || there || err != nil {
		t.Errorf("%d %t %v", seq, there, err)
	}
	if !pipe.Began().IsZero() || pipe.Notes() == nil {
		t.Error("something is beside a pipe")
	}
}

// Types that come with a recording are added, and what is wrong with them is told.
func TestDescribeTells(t *testing.T) {
	var told []string
	tell := func(format string, _ ...any) { told = append(told, format) }
	Describe(nil, "x", recorder.Facts{BadDescriptors: true, Descriptors: "y"}, tell)
	if len(told) != 1 {
		t.Errorf("%q", told)
	}
}
