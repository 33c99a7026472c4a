package export

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/convert/binlog"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
)

// readBinaryLog reads a binary log of gRPC.
func readBinaryLog(in *bufio.Reader, emit func(*session.Entry) error) (imported, error) {
	done, err := binlog.Read(in, emit)
	to := imported{
		entries: done.Entries, messages: done.Messages,
		none: "no call of xDS, and " + render.Count(done.Others, "other", "others"),
		said: []string{fmt.Sprintf("they are of %s of xDS; %s left out",
			render.Count(done.Calls, "call", "calls"), render.Count(done.Others, "other was", "others were"))},
	}
	if damage, damaged := errors.AsType[*binlog.FormatError](err); damaged {
		to.damage, to.unlike, err = damage, damage.Offset == 0, nil
	}
	if done.Missing > 0 {
		to.warned = append(to.warned, render.Count(done.Missing, "entry", "entries")+" of its calls are not in the log")
	}
	if done.Truncated > 0 {
		to.warned = append(to.warned, fmt.Sprintf("of %s the log has the beginning only; let GRPC_BINARY_LOG_FILTER not say how much",
			render.Count(done.Truncated, "message", "messages")))
	}
	if done.Torn {
		to.said = append(to.said, "the log ends within an entry, as when its program is killed")
	}
	return to, err
}
