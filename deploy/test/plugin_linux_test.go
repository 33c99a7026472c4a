package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
)

// An api is as much of an API server as kubectl port-forward and kubectl get secret
// ask for. What forwards ports is the code of the kubelet; the pod is this machine.
type api struct {
	t       *testing.T
	objects map[string]runtime.Object
	mu      sync.Mutex
	asked   []string
	conns   map[net.Conn]bool
	pod     string
	rude    bool
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	pod := a.pod
	o, known := a.objects[r.URL.Path]
	a.mu.Unlock()
	pods := "/api/v1/namespaces/shop/pods"
	running := core.Pod{
		TypeMeta:   meta.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: meta.ObjectMeta{Name: pod, Namespace: "shop", UID: "1", Labels: map[string]string{"app.kubernetes.io/name": "xdsproxy"}},
		Spec:       core.PodSpec{Containers: []core.Container{{Name: "xdsproxy"}}},
		Status:     core.PodStatus{Phase: core.PodRunning, Conditions: []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}},
	}
	switch {
	case known:
	case r.URL.Path == pods:
		o = &core.PodList{TypeMeta: meta.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: []core.Pod{running}}
	case r.URL.Path == pods+"/"+pod:
		o = &running
	case r.URL.Path == pods+"/"+pod+"/portforward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, a, pod, "1", options, time.Hour, guard, portforward.SupportedProtocols)
		return
	default:
		w.WriteHeader(http.StatusNotFound)
		o = &meta.Status{TypeMeta: meta.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: meta.StatusReasonNotFound, Code: 404, Message: r.URL.Path + " not found"}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o)
}

// PortForward is what a container runtime does. To a rude one the end of a connection
// is an error, after which kubectl port-forward gives up.
func (a *api) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer c.Close()
	go func() {
		_, _ = io.Copy(c, stream)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rude && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// replace ends what a pod was asked, as when another takes its place.
func (a *api) replace(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pod = name
	for c := range a.conns {
		_ = c.Close()
	}
}

func (a *api) count(what string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.asked {
		if strings.Contains(s, what) {
			n++
		}
	}
	return n
}

// serve returns a kubeconfig.
func (a *api) serve() string {
	a.conns = map[net.Conn]bool{}
	server := httptest.NewUnstartedServer(a)
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.conns[c] = true
	}
	server.Start()
	a.t.Cleanup(func() { a.replace(""); server.Close() })
	path := filepath.Join(a.t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u"}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u","namespace":"shop"}}]}`, server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// heard is what a program has said so far.
type heard struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.b.String()
}

// The plugin with the real kubectl, from kubectl xds to the viewer of a real
// xdsproxy: the Secret of deploy/README.md, the Deployment of an overlay.
func TestPlugin(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("internal/e2e/tools/kubectl.sh installs it: ", err)
	}
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	free := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	viewer, xds, state := free(), free(), t.TempDir()
	env := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+state, "XDG_RUNTIME_DIR="+state, "HOME="+state)
	const token = "a-token-for-tests-only"
	proxy := exec.Command(filepath.Join(bin, "xdsproxy"), "run", "--headless", "--no-record", "--listen", "127.0.0.1:"+xds, "--upstream", "127.0.0.1:1", "--viewer", "127.0.0.1:"+viewer)
	proxy.Env = append(env, "XDSPROXY_VIEWER_TOKEN="+token)
	proxy.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})

	deployment := of[*apps.Deployment](render(t, "istio", ""))[0]
	deployment.Namespace = "shop"
	list := func(version string, resources ...meta.APIResource) *meta.APIResourceList {
		return &meta.APIResourceList{TypeMeta: meta.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: resources}
	}
	group := meta.GroupVersionForDiscovery{GroupVersion: "apps/v1", Version: "v1"}
	a := &api{t: t, pod: "xdsproxy-1", objects: map[string]runtime.Object{
		"/api":  &meta.APIVersions{TypeMeta: meta.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/apis": &meta.APIGroupList{TypeMeta: meta.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []meta.APIGroup{{Name: "apps", Versions: []meta.GroupVersionForDiscovery{group}, PreferredVersion: group}}},
		"/api/v1": list("v1",
			meta.APIResource{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", ShortNames: []string{"po"}, Verbs: []string{"get", "list"}},
			meta.APIResource{Name: "secrets", SingularName: "secret", Namespaced: true, Kind: "Secret", Verbs: []string{"get"}}),
		"/apis/apps/v1": list("apps/v1", meta.APIResource{Name: "deployments", SingularName: "deployment", Namespaced: true, Kind: "Deployment", ShortNames: []string{"deploy"}, Verbs: []string{"get"}}),
		"/api/v1/namespaces/shop/secrets/xdsproxy-viewer": &core.Secret{
			TypeMeta: meta.TypeMeta{Kind: "Secret", APIVersion: "v1"}, ObjectMeta: meta.ObjectMeta{Name: "xdsproxy-viewer", Namespace: "shop"},
			Data: map[string][]byte{"token": []byte(token)},
		},
		"/apis/apps/v1/namespaces/shop/deployments/xdsproxy": deployment,
	}}
	config := a.serve()
	start := func(args ...string) (*exec.Cmd, *heard, *heard) {
		cmd := exec.Command("kubectl", append([]string{"xds"}, args...)...)
		cmd.Env = append(env, "KUBECONFIG="+config)
		out, errs := &heard{}, &heard{}
		cmd.Stdout, cmd.Stderr = out, errs
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, out, errs
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * guard); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not within the time: %s", what)
			}
		}
	}

	cmd, out, errs := start("status", "deploy/xdsproxy", "--port", viewer, "-o", "json")
	if err := cmd.Wait(); err != nil || !strings.Contains(out.String(), `"clients"`) {
		t.Fatalf("status: %v\n%s%s", err, out, errs)
	}
	for _, c := range [][]string{
		{"status", "deploy/other", "--port", viewer, "could not find"},
		{"status", "deploy/xdsproxy", "--port", free(), "--wait", "5s", "no viewer answers on port"},
		{"status", "deploy/xdsproxy", "--token-secret", "other", "there is no token for the viewer"},
	} {
		want := c[len(c)-1]
		cmd, out, errs := start(c[:len(c)-1]...)
		if err := cmd.Wait(); err == nil || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "error: ") != 1 || out.String() != "" {
			t.Errorf("%q: %v\n%s%s", c, err, out, errs)
		}
	}

	// A pod that is replaced, and a runtime that is not polite.
	a.mu.Lock()
	a.rude = true
	a.mu.Unlock()
	connect := func() {
		// It may be reset before it knows that it was accepted.
		if c, err := net.Dial("tcp", "127.0.0.1:"+xds); err == nil {
			_ = c.Close()
		}
	}
	cmd, out, errs = start("watch", "deploy/xdsproxy", "--port", viewer, "-o", "jsonl")
	lines := func() int { return strings.Count(out.String(), "\n") }
	connect()
	until("the connection is seen", func() bool { return lines() > 0 })
	before := lines()
	a.replace("xdsproxy-2")
	until("kubectl was started again", func() bool { return a.count("xdsproxy-2/portforward") > 0 })
	connect()
	until("the second connection is seen", func() bool { return lines() > before })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	if !strings.Contains(errs.String(), "is back") {
		t.Errorf("watch says %s", errs)
	}
}
