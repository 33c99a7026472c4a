package export

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/convert/grpcdump"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// readGRPCDump reads what grpc-dump writes.
func readGRPCDump(in *bufio.Reader, emit func(*session.Entry) error) (imported, error) {
	done, err := grpcdump.Read(in, emit)
	to := imported{
		entries: done.Entries, messages: done.Messages,
		none: "no call of xDS, and " + render.Count(done.Others, "other", "others"),
		said: []string{fmt.Sprintf("they are of %s of xDS; %s left out",
			render.Count(done.Calls, "call", "calls"), render.Count(done.Others, "other was", "others were"))},
	}
	if damage, damaged := errors.AsType[*grpcdump.FormatError](err); damaged {
		to.damage, err = damage, nil
	}
	if done.Timeless > 0 {
		to.warned = append(to.warned, render.Count(done.Timeless, "call of xDS has no message, and so no time: it is left out", "calls of xDS have no message, and so no time: they are left out"))
	}
	if done.Bare > 0 {
		to.warned = append(to.warned, "of "+render.Count(done.Bare, "message", "messages")+" the dump has not the bytes (raw_message)")
	}
	if done.Torn {
		to.said = append(to.said, "the dump ends within a call")
	}
	return to, err
}
