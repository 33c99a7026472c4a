package export

import (
	"bufio"
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/convert/state"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxClientsSaid bounds of how many clients each is told.
const maxClientsSaid = 10

// readState reads what clients hold, or what istiod would send to one.
func readState(of state.File) func(*bufio.Reader, func(*session.Entry) error) (imported, error) {
	return func(in *bufio.Reader, emit func(*session.Entry) error) (imported, error) {
		begun := false
		done, err := state.Read(in, of, func(e *session.Entry) error {
			begun = true
			return emit(e)
		})
		to := imported{entries: done.Entries, messages: done.Messages, none: "nothing of any client", warned: done.Notes}
		for i, c := range done.Clients {
			if i == maxClientsSaid {
				to.said = append(to.said, render.Count(uint64(len(done.Clients)-i), "client more", "clients more"))
				break
			}
			to.said = append(to.said, aboutClient(&c, done.By, of.Time.IsZero()))
			if c.Unread > 0 {
				to.warned = append(to.warned, fmt.Sprintf("of %s not all could be read: show says what", render.Count(uint64(c.Unread), "resource", "resources")))
			}
		}
		if err != nil && !console.Said(err) && (len(done.Clients) == 0 || begun) {
			to.damage, err = err, nil
		}
		return to, err
	}
}

// aboutClient says in one sentence what was read of a client.
func aboutClient(c *state.Client, by configdump.Teller, piped bool) string {
	whose := "the time of the file"
	if piped {
		whose = "the time of the import"
	}
	name := fmt.Sprintf("client %q", c.Node)
	if c.Node == "" {
		name = "a client whose node is not said"
	}
	when := "as of " + render.Timestamp(c.At)
	if by == configdump.ByIstiod {
		return fmt.Sprintf("it is what istiod would send, %s, as of %s, %s, and says nothing of what a client holds", render.Count(uint64(c.Resources), "resource", "resources"), render.Timestamp(c.At), whose)
	}
	if c.Told {
		when += ", when it last updated anything"
	} else {
		when += ", " + whose + ", since it says none itself"
	}
	return fmt.Sprintf("%s tells of %s, %s", name, render.Count(uint64(c.Resources), "resource", "resources"), when)
}
