package verdict

import "testing"

func TestOf(t *testing.T) {
	for want, helper := range map[string]func(testing.TB){
		"": func(t testing.TB) { t.Helper(); _ = t.TempDir() },
		"error: a 1\nerror: b 2\n": func(t testing.TB) {
			t.Error("a", 1)
			t.Errorf("b %d", 2)
		},
		"error: once\nfatal: over\n": func(t testing.TB) {
			t.Error("once")
			t.Fatal("over")
			t.Error("what comes after the end")
		},
		"fatal: over 3\n": func(t testing.TB) {
			t.Fatalf("over %d", 3)
			t.Error("what comes after the end")
		},
		"skip: not here\n": func(t testing.TB) {
			t.Skip("not here")
			t.Error("what comes after the end")
		},
		"fatal: over\nerror: last\nerror: first\n": func(t testing.TB) {
			t.Cleanup(func() { t.Error("first") })
			t.Cleanup(func() { t.Error("last") })
			t.Fatal("over")
		},
	} {
		if got := Of(t, helper); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
