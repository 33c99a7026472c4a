package test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// guard is when a test gives up.
const guard = time.Minute

// inside says that this process is alone in a network of its own, and where the
// program is that the parent has built.
const inside = "XDSPROXY_TEST_PROGRAM"

// reenter runs a test once more, in a network of its own, so that every port of the
// manifests is free, and as root, so that there can be another user and another root.
func reenter(t *testing.T) {
	t.Helper()
	lacks := func(format string, args ...any) {
		t.Helper()
		if os.Getenv("CI") != "" {
			t.Fatalf(format, args...)
		}
		t.Skipf(format, args...)
	}
	if os.Getuid() != 0 {
		lacks("only root can run a program as another user in another root")
	}
	for _, name := range []string{"ip", "iptables", "setpriv"} {
		if _, err := exec.LookPath(name); err != nil {
			lacks("internal/e2e/tools/iptables.sh installs it: %v", err)
		}
	}
	programs, err := build()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), inside+"="+filepath.Join(programs, "xdsproxy"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	switch {
	case cmd.ProcessState == nil:
		lacks("this system gives no network namespace: %v", err)
	case err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
		t.Errorf("in its namespace: %v\n%s", err, out)
	}
}

func must(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return string(out)
}

// A container is one of a pod, without a container runtime: a root in which only
// the program and its volumes are, a user, an environment.
type container struct {
	t    *testing.T
	name string
	spec core.Container
	root string
	user uint32
}

// unpack makes the root of a container, with volumes as the kubelet mounts them.
func unpack(t *testing.T, pod *core.PodTemplateSpec, files map[string]map[string]string) *container {
	t.Helper()
	c := &container{t: t, spec: xdsproxyOf(pod), root: t.TempDir()}
	group := 0
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		group, c.user = int(*s.FSGroup), uint32(*s.RunAsUser)
	}
	if s := c.spec.SecurityContext; s.RunAsUser != nil {
		c.user = uint32(*s.RunAsUser)
	}
	program, err := os.ReadFile(os.Getenv(inside))
	if err != nil {
		t.Fatal(err)
	}
	c.put("/usr/bin/xdsproxy", string(program), 0o755, 0)
	c.put("/etc/hosts", "10.77.0.1 istiod.istio-system.svc envoy-gateway.envoy-gateway-system.svc contour.projectcontour.svc consul-server.consul.svc your-control-plane.example\n", 0o644, 0)
	for _, m := range c.spec.VolumeMounts {
		v := pod.Spec.Volumes[slices.IndexFunc(pod.Spec.Volumes, func(v core.Volume) bool { return v.Name == m.Name })]
		switch {
		case v.EmptyDir != nil:
			c.mkdir(m.MountPath, 0o777, group)
		case v.PersistentVolumeClaim != nil:
			c.mkdir(m.MountPath, 0o775, group)
		case v.Secret != nil:
			c.fill(m.MountPath, files[v.Secret.SecretName], v.Secret.DefaultMode, group)
		case v.ConfigMap != nil:
			c.fill(m.MountPath, files[v.ConfigMap.Name], v.ConfigMap.DefaultMode, group)
		default:
			t.Fatalf("a volume of another kind: %v", v)
		}
	}
	return c
}

func (c *container) fill(path string, files map[string]string, mode *int32, group int) {
	if len(files) == 0 {
		c.t.Fatalf("there is nothing to mount at %s", path)
	}
	perm := os.FileMode(0o644)
	if mode != nil {
		perm = os.FileMode(*mode)
	}
	for name, text := range files {
		c.put(filepath.Join(path, name), text, perm, group)
	}
}

func (c *container) mkdir(path string, mode os.FileMode, group int) {
	path = filepath.Join(c.root, path)
	err := os.MkdirAll(path, 0o755)
	if err == nil {
		err = os.Chown(path, 0, group)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *container) put(path, text string, mode os.FileMode, group int) {
	path = filepath.Join(c.root, path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chown(path, 0, group)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *container) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(c.spec.Command[0], args...)
	cmd.Path, cmd.Err = c.spec.Command[0], nil
	for _, e := range c.spec.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: c.root, Credential: &syscall.Credential{Uid: c.user, Gid: c.user}, Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	return cmd, &said
}

// run is a command that ends by itself.
func (c *container) run(args ...string) (string, error) {
	cmd, said := c.command(args...)
	err := cmd.Run()
	return said.String(), err
}

// start runs what the manifest says, and waits for the probes.
func (c *container) start() (stop func()) {
	c.t.Helper()
	cmd, said := c.command(c.spec.Args...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	var ended error
	done := make(chan struct{})
	go func() {
		ended = cmd.Wait()
		close(done)
	}()
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	pod := &core.PodTemplateSpec{Spec: core.PodSpec{Containers: []core.Container{c.spec}}}
	for _, probe := range []*core.Probe{c.spec.StartupProbe, c.spec.ReadinessProbe, c.spec.LivenessProbe} {
		if probe == nil {
			continue
		}
		url := fmt.Sprintf("http://10.77.0.1:%d%s", portOf(pod, probe.HTTPGet.Port.String()), probe.HTTPGet.Path)
		for deadline := time.Now().Add(guard); ; time.Sleep(50 * time.Millisecond) {
			answer, err := http.Get(url)
			if err == nil {
				answer.Body.Close()
				if answer.StatusCode == 200 {
					break
				}
			}
			select {
			case <-done:
				c.t.Fatalf("it has ended: %v\n%s", ended, said)
			default:
			}
			if time.Now().After(deadline) {
				c.t.Fatalf("%s: %v %v", url, answer, err)
			}
		}
	}
	return func() {
		c.t.Helper()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(guard):
			c.t.Fatal("it does not end")
		}
		if ended != nil || strings.Contains(said.String(), "warning") || strings.Contains(said.String(), "error") {
			c.t.Errorf("it ended with %v, and said\n%s", ended, said)
		}
	}
}

// Every overlay starts, as the user of the manifest, with nothing that can be
// written but its volumes, from files with the modes and owners that the kubelet
// gives them; probes, viewers, clients and control plane are served.
func TestProgram(t *testing.T) {
	if os.Getenv(inside) == "" {
		reenter(t)
		return
	}
	must(t, "ip", "link", "set", "lo", "up")
	must(t, "ip", "addr", "add", "10.77.0.1/24", "dev", "lo")
	for _, r := range renderings(t) {
		t.Run(r.name, func(t *testing.T) {
			pod := &of[*apps.Deployment](r)[0].Spec.Template
			pki := newPKI(t)
			c := unpack(t, pod, map[string]map[string]string{
				"xdsproxy-viewer":    {"token": "a-token-for-tests-only\n"},
				"xdsproxy-ca":        {"ca.pem": pki.debugging.cert, "ca-key.pem": pki.debugging.key},
				"istio-ca-root-cert": {"root-cert.pem": pki.ca.cert},
				"envoy":              {"ca.crt": pki.ca.cert, "tls.crt": pki.envoy.cert, "tls.key": pki.envoy.key},
				"envoycert":          {"ca.crt": pki.ca.cert, "tls.crt": pki.envoy.cert, "tls.key": pki.envoy.key},
				"contourcert":        {"ca.crt": pki.ca.cert, "tls.crt": pki.server.cert, "tls.key": pki.server.key},
			})
			// Both ends have this port here, where they have one address.
			upstream := environment(c.spec)["XDSPROXY_UPSTREAM"]
			for i, e := range c.spec.Env {
				if e.Name == "XDSPROXY_LISTEN" && strings.HasSuffix(upstream, ":18000") {
					c.spec.Env[i].Value = strings.Replace(e.Value, "0.0.0.0", "127.0.0.1", 1)
				}
			}
			if out, err := c.run("config"); err != nil || strings.Contains(out, "xdsproxy: ") {
				t.Fatalf("config: %v\n%s", err, out)
			}
			stop := c.start()
			if out, err := c.run("info", "127.0.0.1:18999"); err != nil {
				t.Errorf("a viewer: %v\n%s", err, out)
			}
			if upstream != "original-dst" {
				pki.echo(t, upstream, environment(c.spec))
			}
			stop()
		})
	}
}

// identity is a certificate and its key, in PEM.
type identity struct{ cert, key string }

// pki is what the control planes make for themselves: an authority, one certificate
// for the control plane and one for all Envoys. As those of Envoy Gateway they have
// no extended key usage. Beside it the authority of a proxy.
type pki struct{ ca, server, envoy, debugging identity }

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{}
	make := func(template *x509.Certificate, issuer *identity) identity {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template.SerialNumber = big.NewInt(time.Now().UnixNano())
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		parent, signer := template, any(key)
		if issuer != nil {
			pair, err := tls.X509KeyPair([]byte(issuer.cert), []byte(issuer.key))
			if err != nil {
				t.Fatal(err)
			}
			parent, signer = pair.Leaf, pair.PrivateKey
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return identity{
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
			string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
		}
	}
	authority := func(name string) *x509.Certificate {
		return &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	}
	p.ca = make(authority("control plane"), nil)
	p.server = make(&x509.Certificate{DNSNames: []string{"contour", "envoy-gateway.envoy-gateway-system.svc", "istiod.istio-system.svc"}, KeyUsage: x509.KeyUsageDigitalSignature}, &p.ca)
	p.envoy = make(&x509.Certificate{DNSNames: []string{"*.envoy-gateway-system"}, KeyUsage: x509.KeyUsageDigitalSignature}, &p.ca)
	// The authority that deploy/README.md has people make.
	dir := t.TempDir()
	must(t, append([]string{"openssl"}, strings.Fields(strings.NewReplacer("ca-key.pem", dir+"/ca-key.pem", "ca.pem", dir+"/ca.pem").Replace(authorityCommand(t)))...)...)
	for name, to := range map[string]*string{"ca.pem": &p.debugging.cert, "ca-key.pem": &p.debugging.key} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*to = string(text)
	}
	return p
}

// authorityCommand is what the README says after openssl.
func authorityCommand(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, has := strings.Cut(string(text), "\nopenssl req ")
	if !has {
		t.Fatal("deploy/README.md does not say how an authority is made")
	}
	command, _, _ := strings.Cut(strings.ReplaceAll(after, "\\\n", " "), "\n")
	return "req " + strings.NewReplacer(`"`, "", "/CN=xdsproxy debugging", "/CN=xdsproxy-debugging").Replace(command)
}

// echo is a control plane and a client, as the certificates of each overlay are for.
func (p *pki) echo(t *testing.T, upstream string, env map[string]string) {
	t.Helper()
	pool := func(i identity) *x509.CertPool {
		c := x509.NewCertPool()
		c.AppendCertsFromPEM([]byte(i.cert))
		return c
	}
	pair := func(i identity) []tls.Certificate {
		c, err := tls.X509KeyPair([]byte(i.cert), []byte(i.key))
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{c}
	}
	_, port, _ := net.SplitHostPort(upstream)
	listener, err := net.Listen("tcp", "10.77.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if env["XDSPROXY_UPSTREAM_CA"] != "" {
		config := &tls.Config{Certificates: pair(p.server), NextProtos: []string{"h2"}}
		if env["XDSPROXY_UPSTREAM_CERT"] != "" {
			config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool(p.ca)
		}
		listener = tls.NewListener(listener, config)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); _, _ = io.Copy(c, c) }()
		}
	}()
	client, err := net.Dial("tcp", "127.0.0.1:18000")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(guard))
	switch {
	case env["XDSPROXY_TLS_CA_DIR"] != "": // istio-agent: the name that it dials
		client = tls.Client(client, &tls.Config{ServerName: "xdsproxy.xdsproxy.svc", RootCAs: pool(p.debugging), NextProtos: []string{"h2"}})
	case strings.HasPrefix(env["XDSPROXY_TLS_CERT"], "/etc/xdsproxy/contour/"): // Contour's Envoy: the name is fixed
		client = tls.Client(client, &tls.Config{ServerName: "contour", RootCAs: pool(p.ca), NextProtos: []string{"h2"}, Certificates: pair(p.envoy)})
	case env["XDSPROXY_TLS_CERT"] != "": // Envoy Gateway's Envoy: who signed, not for whom
		client = tls.Client(client, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}, Certificates: pair(p.envoy), VerifyConnection: func(s tls.ConnectionState) error {
			_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool(p.ca)})
			return err
		}})
	}
	sent := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	if _, err := client.Write(sent); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("the control plane says %q: %v", got, err)
	}
}

// The bootstraps of the examples are ones that Envoy takes.
func TestExamples(t *testing.T) {
	envoy := "../../.tools/envoy/envoy/_bin/envoy"
	if _, err := os.Stat(envoy); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("make envoy installs it: ", err)
	}
	for _, example := range []string{"sidecar", "original-dst"} {
		if out, err := exec.Command(envoy, "--mode", "validate", "--config-path", "../example/"+example+"/envoy.yaml").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", example, err, out)
		}
	}
}
