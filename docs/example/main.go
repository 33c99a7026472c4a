// Nacks prints each NACK of a recording with its reason: go run . RECORDING. It is a module of
// its own, as yours is: it uses what xdsproxy promises to keep, and nothing else.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("name a recording")
	}
	r, err := recorder.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	streams := decode.NewStreams()
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		stream, _ := streams.Step(&e)
		if stream == nil || e.Carried || e.Kind != session.KindMessage || e.Side != session.Client {
			continue
		}
		m := decode.Peek(stream.Method, e.Side, stream.Content(e.Side), e.Message.Data.Bytes())
		if m.Error != nil {
			fmt.Printf("%s entry %d, %s: %q\n", e.Time.Format("15:04:05.000"), e.Seq, m.TypeURL, m.Error.Message)
		}
	}
	if f := r.Facts(); !f.Complete || f.Lost > 0 {
		log.Print("the recording has no end, or entries were lost: there may be more NACKs")
	}
}
