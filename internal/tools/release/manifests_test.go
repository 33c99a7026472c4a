package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

var dist = flag.String("dist", "", "a release that was made: check what it tells of its files, in place of one of stand-ins for the programs")

// standIns is a release in which nothing is built: stand-ins are in the place of the
// programs.
func standIns(t *testing.T) *release {
	t.Helper()
	r := &release{
		version: "v1.2.3", platforms: all, source: "../../..", out: t.TempDir(), work: t.TempDir(), date: time.Unix(1e9, 0),
		tree: []file{{"LICENSE", []byte("l")}, {"man/xdsproxy.1", []byte("m")}}, pluginLicenses: []byte("g"),
	}
	for _, p := range all {
		if err := os.Mkdir(filepath.Join(r.work, p.String()), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{proxy, plugin} {
			if err := os.WriteFile(r.binary(p, program), []byte(program+" of "+p.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

// made is a directory with the archives of a release, its formula and its manifest
// for krew. The programs in the archives are none, unless -dist names one.
func made(t *testing.T) string {
	if *dist != "" {
		return *dist
	}
	r := standIns(t)
	for _, p := range all {
		if err := r.archives(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.formula(), r.krew()); err != nil {
		t.Fatal(err)
	}
	return r.out
}

// The formula names every archive by its sum, and Ruby reads it.
func TestFormula(t *testing.T) {
	dir := made(t)
	text, err := os.ReadFile(filepath.Join(dir, "xdsproxy.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.os == "windows" {
			continue
		}
		archives, err := filepath.Glob(filepath.Join(dir, "xdsproxy_*_"+p.String()+".tar.gz"))
		if err != nil || len(archives) != 1 {
			t.Fatalf("%v, %v", archives, err)
		}
		sum, err := sumOf(archives[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "_"+p.String()+".tar.gz\"\n      sha256 \""+sum+`"`) {
			t.Errorf("%s has another sum in %s", p, text)
		}
		version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(archives[0]), "xdsproxy_"), "_"+p.String()+".tar.gz")
		if !strings.Contains(string(text), `version "`+version+`"`) {
			t.Errorf("it is not of version %s: %s", version, text)
		}
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal("its syntax is not checked: there is no ruby here, and CI is to have one")
	} else if err != nil {
		t.Skip("its syntax is not checked: there is no ruby here (apt-get install ruby)")
	}
	if out, err := exec.Command(ruby, "-c", filepath.Join(dir, "xdsproxy.rb")).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// krewPlugin is the format of krew's manifests as its developer guide has it. Its own
// types are in a module that pins another Kubernetes.
type krewPlugin struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Metadata   struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Version          string `yaml:"version"`
		Homepage         string `yaml:"homepage"`
		ShortDescription string `yaml:"shortDescription"`
		Description      string `yaml:"description"`
		Caveats          string `yaml:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			} `yaml:"selector"`
			URI    string `yaml:"uri"`
			Sha256 string `yaml:"sha256"`
			Bin    string `yaml:"bin"`
			Files  []struct {
				From string `yaml:"from"`
				To   string `yaml:"to"`
			} `yaml:"files"`
		} `yaml:"platforms"`
	} `yaml:"spec"`
}

// The manifest of the plugin is one that krew reads. Each archive that it names is
// there, with that sum, and has the files that krew is to install.
func TestKrew(t *testing.T) {
	dir := made(t)
	text, err := os.ReadFile(filepath.Join(dir, "xds.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k krewPlugin
	strict := yaml.NewDecoder(bytes.NewReader(text))
	strict.KnownFields(true)
	if err := strict.Decode(&k); err != nil {
		t.Fatal(err)
	}
	if k.Metadata.Name != "xds" || k.Kind != "Plugin" || k.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || len(k.Spec.ShortDescription) > 50 {
		t.Errorf("%+v", k)
	}
	told := map[platform]bool{}
	for _, on := range k.Spec.Platforms {
		p := platform{on.Selector.MatchLabels["os"], on.Selector.MatchLabels["arch"]}
		told[p] = true
		at := "https://github.com/xdsproxy/xdsproxy/releases/download/" + k.Spec.Version + "/"
		name, ours := strings.CutPrefix(on.URI, at)
		if !ours || !strings.HasPrefix(name, pluginArchive(p)+".") || on.Bin != p.executable(plugin) {
			t.Errorf("%s: %+v", p, on)
			continue
		}
		if sum, err := sumOf(filepath.Join(dir, name)); err != nil || sum != on.Sha256 {
			t.Errorf("%s has %s, and not %s: %v", name, sum, on.Sha256, err)
		}
		modes := unpacked(t, filepath.Join(dir, name))
		for _, f := range on.Files {
			if _, there := modes[f.From]; !there || f.To != "." {
				t.Errorf("%s has %v, and not %q", name, modes, f.From)
			}
			delete(modes, f.From)
			if f.From == on.Bin {
				on.Bin = ""
			}
		}
		if len(modes) > 0 || on.Bin != "" {
			t.Errorf("krew would not install %v %s", modes, on.Bin)
		}
	}
	if len(told) != len(all) || len(k.Spec.Platforms) != len(all) {
		t.Errorf("it is for %v", told)
	}
}

// unpacked is the mode of each file in an archive.
func unpacked(t *testing.T, archive string) map[string]os.FileMode {
	t.Helper()
	modes := map[string]os.FileMode{}
	if path.Ext(archive) == ".zip" {
		z, err := zip.OpenReader(archive)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			modes[f.Name] = f.Mode()
		}
		return modes
	}
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(z); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return modes
		} else if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.FileInfo().Mode()
	}
}

// What one executes may be executed, and nothing else.
func TestModes(t *testing.T) {
	for _, pattern := range []string{"*.tar.gz", "*.zip"} {
		archives, err := filepath.Glob(filepath.Join(made(t), pattern))
		if err != nil || len(archives) == 0 {
			t.Fatal(archives, err)
		}
		for _, archive := range archives {
			executables := 0
			for name, mode := range unpacked(t, archive) {
				program := strings.TrimSuffix(path.Base(name), ".exe")
				is := program == proxy || program == plugin
				if is {
					executables++
				}
				if (mode.Perm() == 0o755) != is || !is && mode.Perm() != 0o644 {
					t.Errorf("%s in %s has %s", name, archive, mode)
				}
			}
			if executables != 1 {
				t.Errorf("%s has %d programs", archive, executables)
			}
		}
	}
}
