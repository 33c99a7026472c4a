package archive

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// clash is what is known of another proxy that has the same name.
type clash struct {
	answered bool      // the store has taken something, or had it
	since    time.Time // by the clock of the store, of our first upload
	looked   time.Time
}

// lookMost bounds how far others are looked for, in the list of one day of one proxy.
const lookMost = 5000

// lookForOthers says once that another proxy uploads under the same name at the same
// time: then no object of one is in the way of the other's, as names of recordings
// are unique, but nobody can tell the two apart. An earlier run of this proxy is none
// of them: its objects are older.
func (a *Archive) lookForOthers(ctx context.Context, r *recording, key string) {
	if r != a.current {
		return
	}
	folder := key[:strings.LastIndexByte(key, '/')+1]
	if a.clash.since.IsZero() {
		o, err := a.o.Store.Stat(ctx, key)
		if err != nil {
			return
		}
		a.clash.since = o.Modified
		return // others come later, too
	}
	if !a.clash.looked.IsZero() && time.Since(a.clash.looked) < a.o.Look {
		return
	}
	a.clash.looked = time.Now()
	seen := 0
	for o, err := range a.o.Store.List(ctx, folder) {
		if seen++; err != nil || seen > lookMost {
			return
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(o.Key, folder), "."); !strings.HasPrefix(o.Key, folder+r.intent.Recording+".") && name != "" && o.Modified.After(a.clash.since) && !a.ours(o) {
			a.tellOnce("clash", fmt.Sprintf("another proxy uploads under the name %s, too: %s; their recordings do not mix, but nobody can tell whose is whose", a.o.Name, a.o.Store.URL(o.Key)),
				"give each proxy a name of its own with --archive-name")
			return
		}
	}
}

// ours says whether an object is of an earlier run that this process has uploaded.
func (a *Archive) ours(o objects.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.names {
		if strings.Contains(o.Key, "/"+name+".") {
			return true
		}
	}
	return false
}
