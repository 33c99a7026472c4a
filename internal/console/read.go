package console

import (
	"context"
	"io"
	"os"
)

// Heedful reads what from gives until a signal ends the program, which nothing
// that waits for a pipe would notice. What waits there is left behind.
func (c *Console) Heedful(from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err) // nil: the end
	}()
	context.AfterFunc(c.Ctx, func() { _ = w.CloseWithError(context.Canceled) })
	return r
}

// ReadFile reads a file, and no more than a byte beyond most. One that is none
// may never begin, or never end: a signal ends the wait, too.
func (c *Console) ReadFile(name string, most int64) ([]byte, error) {
	type outcome struct {
		text []byte
		err  error
	}
	read := make(chan outcome, 1)
	go func() {
		f, err := os.Open(name)
		if err != nil {
			read <- outcome{nil, err}
			return
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, most+1))
		read <- outcome{text, err}
	}()
	select {
	case o := <-read:
		return o.text, o.err
	case <-c.Ctx.Done():
		return nil, c.Ctx.Err()
	}
}
