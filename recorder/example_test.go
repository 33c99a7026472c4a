package recorder_test

import (
	"context"
	"fmt"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// A recording is read from its beginning to its end.
func ExampleOpen() {
	r, err := recorder.Open("testdata/version1.xdsp")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	messages := 0
	for e, err := range r.Entries(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Message != nil {
			messages++
		}
	}
	fmt.Println(messages, "messages, written by", r.Facts().Program)
	// Output: 17 messages, written by xdsproxy golden
}
