package xdstest

import (
	"testing"
	"testing/synctest"
	"time"
)

// A client that refuses a version while other streams still wait for it is not
// sent it again before the pause is over or another world is there.
func TestPauseWhileSetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &ControlPlane{
			opts:    Options{ResendPause: time.Hour},
			current: map[string]versions{},
			coming:  map[string]versions{},
			changed: make(chan struct{}),
		}
		const node, typeURL = "a", "type"
		world := func(name string) versions { return versions{typeURL: {name: name}} }
		resumed := false
		refuse := func() error {
			go func() {
				c.pause(t.Context(), node, typeURL, "1")
				resumed = true
			}()
			synctest.Wait()
			return nil
		}

		if err := c.become(node, world("1"), refuse); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if resumed {
			t.Fatal("the pause ended with the world that was refused")
		}
		if err := c.become(node, world("2"), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !resumed {
			t.Error("another world did not end the pause")
		}
	})
}
