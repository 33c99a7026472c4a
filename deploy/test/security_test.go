package test

import (
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// What Kubernetes' own Pod Security Standards say of each pod.
func TestPodSecurity(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	says := func(level security.Level, pod *core.PodTemplateSpec) string {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(security.LevelVersion{Level: level, Version: security.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
		return result.ForbiddenDetail()
	}
	for _, r := range renderings(t) {
		for _, d := range of[*apps.Deployment](r) {
			pod := d.Spec.Template.DeepCopy()
			if strings.HasPrefix(r.name, "original-dst") {
				// The one container with a right, and it is not there for long.
				at := slices.IndexFunc(pod.Spec.InitContainers, func(c core.Container) bool { return c.Name == "xdsproxy-redirect" })
				if at != 0 {
					t.Fatalf("%s: the redirection is init container %d", r.name, at)
				}
				redirect := pod.Spec.InitContainers[0]
				caps := redirect.SecurityContext.Capabilities
				if !slices.Equal(caps.Add, []core.Capability{"NET_ADMIN"}) || !slices.Equal(caps.Drop, []core.Capability{"ALL"}) || redirect.RestartPolicy != nil {
					t.Errorf("%s: the redirection has %v, and restarts %v", r.name, caps, redirect.RestartPolicy)
				}
				if says(security.LevelBaseline, pod) == "" {
					t.Errorf("%s: NET_ADMIN is said to be in the baseline, and docs say it is not", r.name)
				}
				pod.Spec.InitContainers = pod.Spec.InitContainers[1:]
			}
			if why := says(security.LevelRestricted, pod); why != "" {
				t.Errorf("%s: %s", r.name, why)
			}
			if m := pod.Spec.AutomountServiceAccountToken; m == nil || *m {
				t.Errorf("%s: a token is mounted", r.name)
			}
			if l := pod.Spec.EnableServiceLinks; l == nil || *l {
				t.Errorf("%s: Kubernetes sets variables that look like settings", r.name)
			}
			for _, c := range containers(pod) {
				if ro := c.SecurityContext.ReadOnlyRootFilesystem; ro == nil || !*ro {
					t.Errorf("%s: %s can write to its image", r.name, c.Name)
				}
				if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: %s has no resources", r.name, c.Name)
				}
			}
		}
		for _, s := range of[*core.ServiceAccount](r) {
			if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
				t.Errorf("%s: the account mounts its token", r.name)
			}
		}
	}
}

// The budgets of the program stay below the limits of the container.
func TestBudgets(t *testing.T) {
	const own = 120 << 20 // docs/performance.md: the most that the benchmarks take
	for _, r := range renderings(t) {
		for _, d := range of[*apps.Deployment](r) {
			pod := &d.Spec.Template
			c := xdsproxyOf(pod)
			env := environment(c)
			size := func(name string) int64 {
				if env[name] == "" {
					return 0
				}
				q, err := resource.ParseQuantity(strings.TrimSuffix(env[name], "B"))
				if err != nil {
					t.Fatalf("%s: %s: %v", r.name, name, err)
				}
				return q.Value()
			}
			// While a dump is written, it may take the size of the ring once more.
			memory := own + 2*size("XDSPROXY_RING") + size("XDSPROXY_QUEUE") + size("XDSPROXY_TAP_MEMORY") + size("XDSPROXY_MEMORY_PAST")
			if limit := c.Resources.Limits.Memory().Value(); memory > limit {
				t.Errorf("%s: the budgets are %d MiB, and the limit is %d MiB", r.name, memory>>20, limit>>20)
			}
			for _, v := range pod.Spec.Volumes {
				if strings.HasSuffix(v.Name, "state") && v.EmptyDir != nil {
					if room := v.EmptyDir.SizeLimit.Value(); 2*size("XDSPROXY_DUMP_MAX_SIZE") > room || room > c.Resources.Limits.StorageEphemeral().Value() {
						t.Errorf("%s: the pod would be evicted for its dumps", r.name)
					}
				}
			}
			if g := pod.Spec.TerminationGracePeriodSeconds; g != nil && time.Duration(*g)*time.Second < 10*time.Second {
				t.Errorf("%s: %d s are not enough to end in", r.name, *g)
			}
			// A recording whose file has a fixed name is there already when the
			// container starts again, and the program would refuse it for ever.
			if env["XDSPROXY_WRITE"] != "" {
				t.Errorf("%s: the file has a fixed name", r.name)
			}
			if env["XDSPROXY_NO_RECORD"] == "" && (env["XDSPROXY_MAX_SIZE"] == "" || env["XDSPROXY_KEEP"] == "") {
				t.Errorf("%s: the recording has no bounds", r.name)
			}
		}
	}
}
