// Package recordertest is what tests of readers share.
package recordertest

import (
	"context"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Entries are those of a recording.
func Entries(t testing.TB, file string) (all []session.Entry) {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
