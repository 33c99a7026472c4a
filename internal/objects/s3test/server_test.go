package s3test

import "testing"

// A server is there when Start returns, and has its bucket and no other.
func TestServerBegins(t *testing.T) {
	client := Start(t, false).Client()
	for bucket, want := range map[string]bool{"fleet": true, "other": false} {
		if there, err := client.BucketExists(t.Context(), bucket); err != nil || there != want {
			t.Errorf("%s is there: %v, %v", bucket, there, err)
		}
	}
}
