package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	network "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// components are those that can be added to each overlay of the first way in.
var components = []string{"", "components/servicemonitor", "components/recording-pvc"}

// A rendering is what kustomize makes of an overlay, decoded.
type rendering struct {
	name    string
	objects []runtime.Object
}

// renderings are all overlays there are, alone and with each component.
func renderings(t *testing.T) (out []rendering) {
	t.Helper()
	dirs, err := filepath.Glob("../overlays/*")
	if err != nil || len(dirs) < 7 {
		t.Fatalf("%v: %q", err, dirs)
	}
	for _, dir := range dirs {
		name := filepath.Base(dir)
		for _, component := range components {
			if component != "" && strings.HasSuffix(name, "-example") {
				continue
			}
			out = append(out, render(t, name, component))
		}
	}
	return out
}

func render(t *testing.T, overlay, component string) rendering {
	t.Helper()
	memory := filesys.MakeFsInMemory()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := filesys.MakeFsOnDisk().ReadFile(path)
		if err != nil {
			return err
		}
		return memory.WriteFile(filepath.Join("/deploy/test", path), data)
	})
	if err != nil {
		t.Fatal(err)
	}
	top := fmt.Sprintf("kind: Kustomization\napiVersion: kustomize.config.k8s.io/v1beta1\nresources: [../deploy/overlays/%s]\n", overlay)
	r := rendering{name: overlay}
	if component != "" {
		top += fmt.Sprintf("components: [../deploy/%s]\n", component)
		r.name += " with " + component
	}
	if err := memory.WriteFile("/top/kustomization.yaml", []byte(top)); err != nil {
		t.Fatal(err)
	}
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/top")
	if err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	text, err := made.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	r.objects = decode(t, r.name, text)
	return r
}

var types = func() *runtime.Scheme {
	s := runtime.NewScheme()
	_ = scheme.AddToScheme(s)
	_ = monitoring.AddToScheme(s)
	return s
}()

// decode reads objects as the API server does that is asked to be strict: with no
// field that it does not know, and none twice.
func decode(t *testing.T, name string, text []byte) (out []runtime.Object) {
	t.Helper()
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types, json.SerializerOptions{Yaml: true, Strict: true})
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		o, _, err := strict.Decode(doc, nil, nil)
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, doc)
			continue
		}
		out = append(out, o)
	}
	return out
}

// of are the objects of a type.
func of[T runtime.Object](r rendering) (out []T) {
	for _, o := range r.objects {
		if v, is := o.(T); is {
			out = append(out, v)
		}
	}
	return out
}

func TestStrict(t *testing.T) {
	kinds := map[string]bool{}
	for _, r := range renderings(t) {
		for _, o := range r.objects {
			kinds[o.GetObjectKind().GroupVersionKind().Kind] = true
		}
	}
	// No Role, no binding, no webhook, no kind of one's own.
	want := []string{"ConfigMap", "Deployment", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "Service", "ServiceAccount", "ServiceMonitor"}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, want) {
		t.Errorf("the kinds are %q, and are to be %q", got, want)
	}
	// The strictness itself.
	wrong := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nautomountServiceAcountToken: false\n"
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types, json.SerializerOptions{Yaml: true, Strict: true})
	if _, _, err := strict.Decode([]byte(wrong), nil, nil); err == nil {
		t.Error("a misspelt field is taken")
	}
}

// What names something else names what is there.
func TestNamesAgree(t *testing.T) {
	for _, r := range renderings(t) {
		for _, d := range of[*apps.Deployment](r) {
			pod := &d.Spec.Template
			subset(t, r.name+": selector of the Deployment", d.Spec.Selector.MatchLabels, pod.Labels)
			podAgrees(t, r, pod)
			for _, s := range of[*core.Service](r) {
				subset(t, r.name+": selector of Service "+s.Name, s.Spec.Selector, pod.Labels)
				for _, p := range s.Spec.Ports {
					if portOf(pod, p.TargetPort.String()) == 0 {
						t.Errorf("%s: Service %s leads to port %s, which no container has", r.name, s.Name, p.TargetPort.String())
					}
				}
			}
			for _, p := range of[*network.NetworkPolicy](r) {
				subset(t, r.name+": selector of the NetworkPolicy", p.Spec.PodSelector.MatchLabels, pod.Labels)
				for _, rule := range p.Spec.Ingress {
					for _, port := range rule.Ports {
						if portOf(pod, port.Port.String()) == 0 {
							t.Errorf("%s: the NetworkPolicy opens port %s, which no container has", r.name, port.Port.String())
						}
					}
				}
				// The control plane can be reached.
				upstream := environment(xdsproxyOf(pod))["XDSPROXY_UPSTREAM"]
				reached := false
				for _, rule := range p.Spec.Egress {
					for _, port := range rule.Ports {
						reached = reached || len(rule.To) > 0 && strings.HasSuffix(upstream, ":"+port.Port.String())
					}
				}
				if !reached {
					t.Errorf("%s: the NetworkPolicy does not let the proxy reach %s", r.name, upstream)
				}
			}
		}
		for _, m := range of[*monitoring.ServiceMonitor](r) {
			found := 0
			for _, s := range of[*core.Service](r) {
				if !contains(m.Spec.Selector.MatchLabels, s.Labels) {
					continue
				}
				found++
				for _, e := range m.Spec.Endpoints {
					if !slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == e.Port }) {
						t.Errorf("%s: the ServiceMonitor wants port %s of Service %s", r.name, e.Port, s.Name)
					}
				}
			}
			if found != 1 {
				t.Errorf("%s: the ServiceMonitor selects %d Services", r.name, found)
			}
		}
		for _, c := range of[*core.PersistentVolumeClaim](r) {
			used := false
			for _, d := range of[*apps.Deployment](r) {
				for _, v := range d.Spec.Template.Spec.Volumes {
					used = used || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name
				}
				if d.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType || d.Spec.Strategy.RollingUpdate != nil {
					t.Errorf("%s: two pods may want one volume", r.name)
				}
			}
			if !used {
				t.Errorf("%s: nothing uses the volume claim", r.name)
			}
		}
	}
}

func podAgrees(t *testing.T, r rendering, pod *core.PodTemplateSpec) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	taken := map[int32]string{}
	for _, c := range containers(pod) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: container %s mounts %s, which is no volume", r.name, c.Name, m.Name)
			}
		}
		for _, p := range c.Ports {
			if taken[p.ContainerPort] != "" {
				t.Errorf("%s: %s and %s have port %d", r.name, taken[p.ContainerPort], c.Name, p.ContainerPort)
			}
			taken[p.ContainerPort] = c.Name
		}
		for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if probe != nil && portOf(pod, probe.HTTPGet.Port.String()) == 0 {
				t.Errorf("%s: a probe of %s asks port %s, which there is not", r.name, c.Name, probe.HTTPGet.Port.String())
			}
		}
		if !strings.HasPrefix(c.Image, "registry.example/") && c.Name != "envoy" {
			t.Errorf("%s: the image of %s is %s, which deploy/image does not set", r.name, c.Name, c.Image)
		}
	}
}

// containers are all of a pod, in the order in which they start.
func containers(pod *core.PodTemplateSpec) []core.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}

func xdsproxyOf(pod *core.PodTemplateSpec) core.Container {
	for _, c := range containers(pod) {
		if c.Name == "xdsproxy" {
			return c
		}
	}
	return core.Container{}
}

func environment(c core.Container) map[string]string {
	env := map[string]string{}
	for _, e := range c.Env {
		env[e.Name] = e.Value
	}
	return env
}

// portOf is the port of a name or number, 0 if no container has it.
func portOf(pod *core.PodTemplateSpec, name string) int32 {
	for _, c := range containers(pod) {
		for _, p := range c.Ports {
			if p.Name == name || fmt.Sprint(p.ContainerPort) == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}

func contains(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

func subset(t *testing.T, what string, selector, labels map[string]string) {
	t.Helper()
	if !contains(selector, labels) {
		t.Errorf("%s: %v is not among %v", what, selector, labels)
	}
}
