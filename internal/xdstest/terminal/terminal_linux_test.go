package terminal

import (
	"bufio"
	"testing"

	"golang.org/x/sys/unix"
)

// What a person types arrives, what a program writes is seen, and hanging up is an end.
func TestPair(t *testing.T) {
	far, near := Pair(t)
	size, err := unix.IoctlGetWinsize(int(near.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col != 100 || size.Row != 30 {
		t.Errorf("%+v, %v", size, err)
	}
	if _, err := far.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(near).ReadString('\n'); line != "typed\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if _, err := near.WriteString("seen\n"); err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewReader(far)
	for _, want := range []string{"typed\r\n", "seen\r\n"} { // it echoes
		if line, err := seen.ReadString('\n'); line != want || err != nil {
			t.Errorf("%q, %v, want %q", line, err, want)
		}
	}
	if other, _ := Pair(t); other.Name() != far.Name() {
		t.Errorf("%s and %s", other.Name(), far.Name())
	}
	if _, second := Pair(t); second.Name() == near.Name() {
		t.Errorf("two terminals are both %s", near.Name())
	}
	if err := far.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := near.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("after hanging up %d bytes are read, %v", n, err)
	}
	if _, err := near.WriteString("x"); err == nil {
		t.Error("who has hung up is written to")
	}
}
