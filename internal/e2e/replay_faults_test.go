package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// faulty is a fault and what check finds in the recording of its replay.
type faulty struct {
	variant, fault string
	rule           string
	check          []string                  // flags
	seen           func(*session.Entry) bool // an entry that stands there; nil: none in particular
}

// found are the rules that check finds broken in a recording, and how often.
func found(t *testing.T, recording string, flags ...string) map[string]int {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"check", recording, "-o", "json", "--info", "--fail-on", "never"}, flags...)...)
	cmd.Env = quietEnv(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Findings []struct {
			Rule  string `json:"rule"`
			Count int    `json:"count"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, f := range report.Findings {
		rules[f.Rule] += f.Count
	}
	return rules
}

// holds requires that the fault of an ended replay was told, in its report and on
// its log, and stands in its recording; and that check finds there what it does
// not find in that of a replay without.
func (f *faulty) holds(t *testing.T, r *replaying, report replayReport, without, again string) {
	t.Helper()
	told := "on purpose (" + f.fault + "): "
	if !slices.ContainsFunc(report.Notes, func(n string) bool { return strings.HasPrefix(n, told) }) || !strings.Contains(r.stderr.String(), told) {
		t.Errorf("it does not tell what it did: %q", report.Notes)
	}
	all := recordertest.Entries(t, again)
	if !slices.ContainsFunc(all, func(e session.Entry) bool {
		return e.Kind == session.KindNote && e.Note.Code == session.NoteFault && strings.HasPrefix(e.Note.Text, told)
	}) {
		t.Error("its recording has no note of it")
	}
	if f.seen != nil && !slices.ContainsFunc(all, func(e session.Entry) bool { return f.seen(&e) }) {
		t.Error("it was not done")
	}
	before, now := found(t, without, f.check...), found(t, again, f.check...)
	if now[f.rule] <= before[f.rule] {
		t.Errorf("check finds %v, and without the fault %v; want more of %s\n%+v", now, before, f.rule, report.Differences)
	}
}

// Each fault of a played server meets an Envoy, and is found. Where the stream
// ends, Envoy comes again and is led on to where the recorded one was.
func TestFaultsToEnvoy(t *testing.T) {
	t.Parallel()
	late := []string{"--dne", "1s"}
	goesOn := map[string]bool{"delay": true, "duplicate": true, "version-reused": true, "cut": true, "goaway": true, "reset": true, "refuse": true}
	for _, v := range variants()[:2] {
		play := func(t *testing.T, fault ...string) (r *replaying, code int, report replayReport, again string) {
			t.Helper()
			again = filepath.Join(t.TempDir(), "again.xdsp")
			r = startReplay(t, filepath.Join(sessionsDir, "envoy-"+v.name+".xdsp"),
				append([]string{"--as", "server", "--listen", freeAddr(t), "--idle", "4s", "-w", again}, fault...)...)
			launchEnvoy(t, v, envoyNode, r.addr)
			code, report = r.end(t)
			return r, code, report, again
		}
		_, _, _, without := play(t)
		for _, f := range []faulty{
			{"sotw", "delay=2s:type:eds#1", "requested-resource-timeout", late, nil},
			{"delta", "delay=2s:type:eds#1", "delta-subscribe-unanswered", late, nil},
			{"sotw", "drop:type:eds#1", "requested-resource-timeout", late, nil},
			{"delta", "drop:type:eds#1", "delta-subscribe-unanswered", late, nil},
			{"", "duplicate:type:eds#2", "response-nonce-reused", nil, nil},
			{"sotw", "reorder:type:cds#2", "reference-before-cluster", nil, nil},
			{"sotw", "version-reused:type:cds#3", "version-reused-for-new-content", nil, nil},
			{"delta", "version-reused:type:cds name:api#2", "version-reused-for-new-content", nil, nil},
			{"", "cut:type:rds#2", "server-closed-stream", nil, func(e *session.Entry) bool {
				return e.Kind == session.KindTrailer && e.Status.Message == "cut on purpose"
			}},
			{"", "goaway:type:rds#2", "server-closed-stream", nil, func(e *session.Entry) bool {
				return e.Kind == session.KindGoAway && e.Side == session.Server && e.GoAway.Debug == "on purpose"
			}},
			{"", "reset=11:type:rds#2", "server-closed-stream", nil, func(e *session.Entry) bool {
				return e.Kind == session.KindCancel && e.Side == session.Server && e.Status.WasReset && e.Status.Reset == 11
			}},
			{"", "refuse", "stream-rejected", nil, func(e *session.Entry) bool {
				return e.Kind == session.KindTrailer && e.Status.Code == 8
			}},
		} {
			if f.variant != "" && f.variant != v.name {
				continue
			}
			kind := regexp.MustCompile(`^[a-z-]+`).FindString(f.fault)
			t.Run(v.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				r, code, report, again := play(t, "--fault", f.fault)
				f.holds(t, r, report, without, again)
				if goesOn[kind] && (code != 0 || len(report.Differences) > 0) {
					t.Errorf("exit code %d, %+v", code, report.Differences)
				}
			})
		}
	}
}

// Each fault of played clients meets a go-control-plane, and is found.
func TestFaultsToControlPlane(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		s := openScene(t, v, careful(v), nil)
		recording := s.close(t)
		s.control.Stop()
		play := func(t *testing.T, fault ...string) (*replaying, replayReport, string) {
			t.Helper()
			c := startControlPlaneAs(t, envoyNode, careful(v))
			c.set(t, s.world())
			again := filepath.Join(t.TempDir(), "again.xdsp")
			r := startReplay(t, recording, append([]string{"--as", "client", "--target", c.Addr(), "--idle", "3s", "-w", again}, fault...)...)
			_, report := r.end(t)
			return r, report, again
		}
		_, _, without := play(t)
		for _, f := range []faulty{
			{"", "nack:type:rds", "nack-received", nil, nil},
			{"", "silence:type:eds", "ack-missing", []string{"--ack", "1s"}, nil},
			{"", "late-ack=2s:type:eds", "ack-missing", []string{"--ack", "1s"}, nil},
			{"", "wrong-nonce:type:rds", "nonce-unknown", nil, nil},
			{"", "reconnect-storm", "reconnect-storm", nil, nil},
		} {
			kind := regexp.MustCompile(`^[a-z-]+`).FindString(f.fault)
			t.Run(v.name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				r, report, again := play(t, "--fault", f.fault)
				f.holds(t, r, report, without, again)
			})
		}
	}
}

// A replay that ends while the client still waits leaves no trace of its own
// plumbing: the client comes again and finds nobody, as it is.
func TestReplayLeavesQuietly(t *testing.T) {
	t.Parallel()
	again := filepath.Join(t.TempDir(), "again.xdsp")
	r := startReplay(t, filepath.Join(sessionsDir, "envoy-sotw.xdsp"),
		"--as", "server", "--listen", freeAddr(t), "--idle", "2s", "-w", again, "--fault", "drop:type:cds")
	launchEnvoy(t, variants()[0], envoyNode, r.addr)
	if _, report := r.end(t); len(report.Differences) == 0 {
		t.Error("the client did not wait for anything")
	}
	if strings.Contains(r.stderr.String(), "cannot reach upstream") {
		t.Error("it warns of its own end")
	}
	for _, e := range recordertest.Entries(t, again) {
		if e.Conn > 1 || e.Kind == session.KindNote && e.Note.Code == session.NoteDialFailed {
			t.Errorf("its recording has %+v, %+v", e, e.Note)
		}
	}
}
