package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// resources are n chunks as a Transform would make them of a response.
func resources(n int) session.Chunks {
	all := clusters(n * len(clusterText(0)))
	c := make(session.Chunks, n)
	for i := range c {
		k := len(clusterText(i))
		c[i], all = all[:k:k], all[k:]
	}
	return c
}

func response(c session.Chunks) session.Entry {
	e := message(1, "")
	e.Message.Data, e.Message.Size = c, c.Len()
	return e
}

// pushes are messages that repeat each other but for a chunk that changes, one
// that is new, one that is gone, and what is too small to be content.
func pushes(t testing.TB, n int) []session.Chunks {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	base := resources(50)
	var out []session.Chunks
	for i := range n {
		c := session.Chunks{fmt.Appendf(nil, "version %d", i), nil}
		for k, chunk := range base {
			switch {
			case rng.IntN(20) == 0:
				c = append(c, fmt.Appendf(nil, "%s changed %d", chunk, i))
			case rng.IntN(20) == 0:
				continue
			case k == 30:
				c = append(c, []byte("small"), []byte("and small"))
			}
			c = append(c, chunk)
		}
		rng.Shuffle(i%10, func(a, b int) { c[a+2], c[b+2] = c[b+2], c[a+2] })
		out = append(out, c)
	}
	return out
}

func TestContentIsStoredOnceAndComesBackExactly(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	all := pushes(t, 200)
	for i, c := range all {
		l.Append(response(c))
		if i%20 == 0 {
			until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
		}
	}
	closeLog(t, l)
	got, facts := readAll(t, l.Path())
	if len(got) != len(all) || !facts.Complete {
		t.Fatalf("%d entries of %d", len(got), len(all))
	}
	for i, c := range all {
		if m := got[i].Message; !bytes.Equal(m.Data.Bytes(), c.Bytes()) || len(m.Data) != 1 || m.Masked {
			t.Errorf("message %d did not come back", i)
		}
	}
	for _, chunk := range resources(50) {
		if n := strings.Count(inflated(t, l.Path()), string(chunk)); n > 200/20*3 {
			t.Errorf("a resource is stored %d times", n)
		}
	}
}

// The bytes that are written for a push which repeats the one before do not
// grow with what it repeats.
func TestRepeatedPushCostsNothing(t *testing.T) {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	e := response(resources(20_000))
	for e.Seq = 1; e.Seq <= 3; e.Seq++ {
		before := len(m.b)
		put(t, f, e)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if n := len(m.b) - before; e.Seq > 1 && n > 250 {
			t.Errorf("push %d took %d bytes", e.Seq, n)
		}
	}
	all, err := drain(NewReader(bytes.NewReader(m.b)))
	if err != nil || len(all) != 3 || !bytes.Equal(all[2].Message.Data.Bytes(), e.Message.Data.Bytes()) {
		t.Errorf("%d entries, %v", len(all), err)
	}
}

// Content is asked once for each distinct chunk; what it masks is nowhere in
// the file, and each message that refers to it says that it is masked.
func TestContentHook(t *testing.T) {
	calls := map[string]int{}
	mask := func(chunk []byte) []byte {
		calls[string(chunk)]++
		if !bytes.Contains(chunk, []byte("secret")) {
			return chunk
		}
		return bytes.ReplaceAll(chunk, []byte("secret"), []byte("masked"))
	}
	l := create(t, Options{NoTicks: true, Content: mask})
	long := strings.Repeat("x", format.MinContent)
	for _, c := range []session.Chunks{
		{[]byte(long + "secret"), []byte(long)},
		{[]byte("head"), []byte(long), []byte(long + "secret")},
		{[]byte(long), []byte("tail")},
		{[]byte("small secret")},
	} {
		l.Append(response(c))
	}
	closeLog(t, l)
	all, _ := readAll(t, l.Path())
	want := []string{long + "masked" + long, "head" + long + long + "masked", long + "tail", "small masked"}
	for i, e := range all {
		if got := string(e.Message.Data.Bytes()); got != want[i] || e.Message.Masked != strings.Contains(got, "masked") {
			t.Errorf("message %d is %q, masked %v", i, got, e.Message.Masked)
		}
	}
	if calls[long] != 1 || calls[long+"secret"] != 1 {
		t.Errorf("calls %v", calls)
	}
	if strings.Contains(inflated(t, l.Path()), "secret") {
		t.Error("the secret is in the file")
	}
}

// A hook that fails costs the entry its payload, and what the entry would have
// defined is not referred to.
func TestContentHookFails(t *testing.T) {
	for name, fail := range map[string]func([]byte) []byte{
		"panics":     func([]byte) []byte { panic("secret") },
		"lengthens":  func(b []byte) []byte { return append(b[:len(b):len(b)], 0) },
		"is nothing": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			l := create(t, Options{NoTicks: true, Content: func(b []byte) []byte {
				if bytes.HasPrefix(b, []byte("secret")) {
					return fail(b)
				}
				return b
			}})
			fine, bad := []byte(strings.Repeat("fine", 20)), []byte(strings.Repeat("secret", 20))
			next := []byte(strings.Repeat("next", 20))
			for _, c := range []session.Chunks{{fine}, {next, bad}, {next}, {next, fine}} {
				l.Append(response(c))
			}
			closeLog(t, l)
			all, facts := readAll(t, l.Path())
			if len(all) != 4 || !facts.Complete || strings.Contains(inflated(t, l.Path()), "secret") {
				t.Fatalf("%d entries, %+v", len(all), facts)
			}
			for i, want := range []string{string(fine), "", string(next), string(next) + string(fine)} {
				m := all[i].Message
				if lost := i == 1; string(m.Data.Bytes()) != want || m.Truncated != lost || (len(all[i].Problems) == 1) != lost {
					t.Errorf("entry %d: %q, %q", i, m.Data.Bytes(), all[i].Problems)
				}
			}
		})
	}
}

// Content that was lost with its block is stored again.
func TestContentAfterAFullDisk(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{NoTicks: true})
	all := pushes(t, 30)
	for i, c := range all {
		switch i {
		case 10:
			f.set(f.size(t), nil)
		case 20:
			f.set(plenty, nil)
		}
		l.Append(response(c))
		until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
	}
	closeLog(t, l)
	got, facts := readAll(t, f.Name())
	if explained(t, got); facts.Messages != 20 || facts.Lost != 10 || !facts.Complete {
		t.Fatalf("%+v", facts)
	}
	for i, e := range without(session.KindGap, got) {
		want := i
		if i >= 10 {
			want = i + 10 // after the gap
		}
		if !bytes.Equal(e.Message.Data.Bytes(), all[want].Bytes()) {
			t.Errorf("entry %d did not come back", e.Seq)
		}
	}
}

// Epochs end, and a message beyond all bounds takes no room in one.
func TestEpochs(t *testing.T) {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	var want []session.Entry
	add := func(c session.Chunks) {
		e := response(c)
		e.Seq = session.Seq(len(want) + 1)
		if fits, err := f.Measure(&e); err != nil {
			t.Fatal(err)
		} else if !fits {
			if err := f.Commit(); err != nil {
				t.Fatal(err)
			}
		}
		f.Add(&e, nil)
		want = append(want, e)
	}
	commit := func() {
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	repeated := noise(5000)
	big := noise(1 << 20)
	for i := range 150 { // 150 MiB of content
		piece := bytes.Clone(big)
		piece[0], piece[1] = byte(i), byte(i>>8)
		add(session.Chunks{repeated, piece})
	}
	commit()
	if f.Epoch != 2 {
		t.Errorf("epoch %d after more content than one holds", f.Epoch)
	}
	before, bytesBefore := len(f.Known.Sums), f.Known.Bytes
	huge := chunked(noise(format.EpochBytes/2 + 1))
	add(append(huge, repeated))
	commit()
	if f.Epoch != 2 || len(f.Known.Sums) != before || f.Known.Bytes != bytesBefore {
		t.Errorf("a huge message took room: epoch %d, %d contents", f.Epoch, len(f.Known.Sums))
	}
	for i := range format.MaxEpochBlocks + 10 {
		add(session.Chunks{fmt.Appendf(nil, "%060d", i), repeated})
		commit()
	}
	if f.Epoch != 3 {
		t.Errorf("epoch %d after many blocks", f.Epoch)
	}
	f.Known.Full = true
	add(session.Chunks{repeated}) // measured in the old epoch
	commit()
	add(session.Chunks{repeated})
	commit()

	seekable := readerOf(t, &counted{b: m.b})
	seekable.Pieces()
	for name, c := range map[string]struct {
		r    *Reader
		most int64
	}{
		"pipe": {NewReader(bytes.NewReader(m.b)), format.EpochBytes},
		"file": {seekable, format.KeepContents + 4*format.BlockTarget},
	} {
		defer c.r.Close()
		for i := range want {
			e, err := c.r.Next(context.Background())
			if err != nil {
				t.Fatalf("%s, entry %d: %v", name, i+1, err)
			}
			if !bytes.Equal(e.Message.Data.Bytes(), want[i].Message.Data.Bytes()) {
				t.Fatalf("%s, entry %d did not come back", name, i+1)
			}
			if n := c.r.dict.Bytes; n > c.most {
				t.Fatalf("%s, entry %d: a reader keeps %d bytes", name, i+1, n)
			}
		}
	}
}

// Messages that need a little of each of many blocks, now of these and now of
// those, do not make a reader read the blocks again for ever.
func TestContentsAreNotReadAgainForEver(t *testing.T) {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	seq := session.Seq(0)
	add := func(c session.Chunks) {
		e := response(c)
		seq++
		e.Seq = seq
		if _, err := f.Measure(&e); err != nil {
			t.Fatal(err)
		}
		f.Add(&e, nil)
	}
	var small session.Chunks // one in each block
	for i := range 60 {
		piece, tiny := noise(1<<20), noise(100)
		binary.LittleEndian.PutUint32(piece, uint32(i))
		binary.LittleEndian.PutUint32(tiny, uint32(i))
		add(session.Chunks{tiny, piece})
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		small = append(small, tiny)
	}
	for i := range 2000 {
		add(small[i%12*5 : i%12*5+5])
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	file := &counted{b: m.b}
	r := readerOf(t, file)
	defer r.Close()
	r.Pieces()
	for range seq {
		if _, err := r.Next(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if read := file.read.Load(); read > 2*int64(len(m.b))+2*format.MaxAgain {
		t.Errorf("%d bytes were read of a file of %d", read, len(m.b))
	}
}

// What a reader let go of it reads again, and what each message needs it keeps,
// however much it is.
func TestContentsAreLetGo(t *testing.T) {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	var entries []session.Entry
	var made uint32
	add := func(c session.Chunks) {
		e := response(c)
		e.Seq = session.Seq(len(entries) + 1)
		if _, err := f.Measure(&e); err != nil {
			t.Fatal(err)
		}
		f.Add(&e, nil)
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	fresh := func() []byte { // a megabyte like no other
		piece := noise(1 << 20)
		binary.LittleEndian.PutUint32(piece, made)
		made++
		return piece
	}
	var large session.Chunks // more than keepContents
	for range 24 {
		large = append(large, fresh())
	}
	first := session.Chunks{fresh()}
	add(first)
	for range 4 {
		add(large)
	}
	for range 40 { // short ones, each new
		add(session.Chunks{fresh()})
	}
	add(first)
	r := readerOf(t, &counted{b: m.b})
	defer r.Close()
	r.Pieces()
	at := map[int]*byte{}
	for i := range entries {
		e, err := r.Next(context.Background())
		if err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
		if !bytes.Equal(e.Message.Data.Bytes(), entries[i].Message.Data.Bytes()) {
			t.Fatalf("entry %d did not come back", i+1)
		}
		at[i] = &e.Message.Data[0][0]
	}
	if at[1] != at[4] {
		t.Error("what each message has did not stay")
	}
	if at[0] == at[len(entries)-1] {
		t.Error("what was not used for long stayed")
	}
	if n := r.dict.Bytes; n > 2*24<<20 {
		t.Errorf("%d bytes stayed", n)
	}
}

func TestLabelsAndStreamsInHeaders(t *testing.T) {
	l := create(t, Options{NoTicks: true, Labels: func(e *session.Entry) []string {
		return []string{"side:" + e.Side.String(), fmt.Sprint("conn:", e.Conn)}
	}})
	for i := range 3 {
		l.Append(message(session.StreamID(5-i), "x"))
	}
	until(t, "it is written", func() bool { return l.Stats().Queued == 0 })
	for i := range 2 * format.MaxBlockStreams {
		e := message(session.StreamID(i+1), "x")
		e.Conn = session.ConnID(i)
		l.Append(e)
	}
	closeLog(t, l)
	b, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	hs := headersOf(t, b)
	if h := hs[0]; !reflect.DeepEqual(h.Streams, []uint64{3, 4, 5}) || !reflect.DeepEqual(h.Labels, []string{"side:server", "conn:1"}) {
		t.Errorf("%+v", h)
	}
	if h := hs[len(hs)-1]; !h.ManyStreams || !h.ManyLabels || h.Streams != nil || h.Labels != nil || h.Stream != 2*format.MaxBlockStreams {
		t.Errorf("%+v", h)
	}
}

// headersOf are the block headers of a recording.
func headersOf(t testing.TB, b []byte) []format.BlockHeader {
	t.Helper()
	var out []format.BlockHeader
	r := NewReader(bytes.NewReader(b))
	defer r.Close()
	for {
		if _, err := r.Next(context.Background()); err != nil {
			return out
		}
		if len(out) == 0 || out[len(out)-1].First != r.head.First {
			out = append(out, r.head)
		}
	}
}
