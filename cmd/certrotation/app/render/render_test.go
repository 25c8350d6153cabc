// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"k8s.io/klog/v2/ktesting"

	"certrotation.dev/controller/bootstrap"
	"certrotation.dev/controller/recovery"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testNow() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// sample returns the input files of manifests/samples/etcd-nodes.
func sample() []string {
	var out []string
	for _, name := range []string{"class", "namespace", "configuration", "etcd-pod", "rbac", "nodes"} {
		out = append(out, filepath.Join("..", "..", "..", "..", "manifests", "samples", "etcd-nodes", name+".yaml"))
	}
	return out
}

func run(t *testing.T, options *Options) (string, error) {
	t.Helper()
	if err := options.Validate(); err != nil {
		return "", err
	}
	var out bytes.Buffer
	_, ctx := ktesting.NewTestContext(t)
	err := Run(ctx, options, strings.NewReader(""), &out, testNow())
	return out.String(), err
}

// tree lists a directory: names with modes, and links with their targets.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		line := below + " " + info.Mode().String()
		if entry.Type() == fs.ModeSymlink {
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			line = below + " -> " + target
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRender(t *testing.T) {
	// The modes must not depend on the umask.
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "deep", "out")
	said, err := run(t, &Options{Configs: sample(), OutputDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const prefix = "etc/kubernetes/static-pod-resources/etcd-pod-1"
	const file, directory = " -rw-------", " drwx------"
	certs := func(names ...string) []string {
		var out []string
		for _, name := range names {
			base := prefix + "/generation-1/secrets/etcd-all-certs/" + name + "-master-1"
			out = append(out, base+".crt"+file, base+".key"+file)
		}
		return out
	}
	want := append([]string{
		"." + directory, "etc" + directory, "etc/kubernetes" + directory, "etc/kubernetes/manifests" + directory,
		"etc/kubernetes/manifests/etcd-pod.yaml" + file, "etc/kubernetes/static-pod-resources" + directory, prefix + directory,
		prefix + "/current -> generation-1", prefix + "/etcd-pod.yaml" + file, prefix + "/generation-1" + directory,
		prefix + "/generation-1/configmaps" + directory, prefix + "/generation-1/configmaps/etcd-all-bundles" + directory,
		prefix + "/generation-1/configmaps/etcd-all-bundles/metrics-ca-bundle.crt" + file,
		prefix + "/generation-1/configmaps/etcd-all-bundles/server-ca-bundle.crt" + file,
		prefix + "/generation-1/generation.json" + file, prefix + "/generation-1/secrets" + directory,
		prefix + "/generation-1/secrets/etcd-all-certs" + directory,
	}, certs("etcd-peer", "etcd-serving", "etcd-serving-metrics")...)
	want = append(want, "etc/kubernetes/static-pod-resources/etcd-pod.lock"+file)
	if diff := cmp.Diff(want, tree(t, filepath.Join(dir, "nodes", "master-1")), cmp.Transformer("sorted", sorted)); diff != "" {
		t.Errorf("disk of master-1 (-want +got):\n%s", diff)
	}
	for _, line := range tree(t, dir) {
		if !strings.HasSuffix(line, file) && !strings.HasSuffix(line, directory) && !strings.Contains(line, " -> ") {
			t.Errorf("mode of %s", line)
		}
	}
	for _, want := range []string{dir + "/nodes/master-2: revision 1 of etcd", "manifests: ", "tls: 6 files"} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %q, want %q", said, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); err != nil || len(left) > 0 {
		t.Errorf("left beside the output: %v, %v", left, err)
	}
	if _, err := run(t, &Options{Configs: sample(), OutputDir: dir}); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("rendered over an output: %v", err)
	}
}

func sorted(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, line := range lines {
		out[line] = true
	}
	return out
}

// TestInstallerChangesNothing installs revision 1 on a rendered disk, as the first installer pod does.
func TestInstallerChangesNothing(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	_, result := renderedSample(t)
	stage, err := newStaging(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	if err := stage.write(ctx, result); err != nil {
		t.Fatal(err)
	}
	for i := range result.Nodes {
		node := &result.Nodes[i]
		disk, err := generation.Open(stage.layout(node))
		if err != nil {
			t.Fatal(err)
		}
		done, err := disk.Install(ctx, generation.Request{
			Content: node.Content, Revision: node.Revision, ContentHash: node.ContentHash, RestartHash: node.RestartHash,
			NodeName: node.Name, NodeIP: node.Address, Permitted: node.Permitted,
		})
		if err != nil || done.Changed || done.Restart {
			t.Errorf("%s: %+v, %v, want no change", node.Name, done, err)
		}
	}
}

func TestDoctorFindsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := run(t, &Options{Configs: sample(), OutputDir: dir}); err != nil {
		t.Fatal(err)
	}
	kubernetes := filepath.Join(dir, "nodes", "master-0", "etc", "kubernetes")
	disk, err := recovery.ReadDisk(nodepod.Layout{
		Name: "etcd", ManifestDirectory: filepath.Join(kubernetes, "manifests"), ResourceDirectory: filepath.Join(kubernetes, "static-pod-resources"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(disk.Directories) != 1 || len(disk.Directories[0].Generations) != 1 || len(disk.Leftovers) > 0 {
		t.Fatalf("disk: %+v", disk)
	}
	if generation := disk.Directories[0].Generations[0]; len(generation.Defects) > 0 || len(generation.Pairs) != 3 || len(generation.Bundles) != 2 {
		t.Errorf("generation: %+v", generation)
	}
}

// TestEmptyOutput writes to an existing, empty directory.
func TestEmptyOutput(t *testing.T) {
	dir := t.TempDir()
	if _, err := run(t, &Options{Configs: sample(), OutputDir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "tls", "etcd-client.key")); err != nil {
		t.Error(err)
	}
}

func TestStandardInput(t *testing.T) {
	all, err := (&Options{Configs: sample()}).read(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	command := NewCommand()
	command.SetIn(bytes.NewReader(all))
	command.SetOut(&bytes.Buffer{})
	command.SetArgs([]string{"--config", "-", "--output-dir", dir})
	_, ctx := ktesting.NewTestContext(t)
	if err := command.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "manifests")); err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		options func(dir string) *Options
		want    string
	}{
		"nothing":        {func(string) *Options { return &Options{} }, "--config is required\n--output-dir is required"},
		"no such config": {func(dir string) *Options { return &Options{Configs: []string{dir + "/absent"}, OutputDir: dir} }, "no such file"},
		"output is a file": {func(dir string) *Options {
			return &Options{Configs: sample(), OutputDir: write(t, dir, "file", "x")}
		}, "is no directory"},
		"output is a link": {func(dir string) *Options {
			link := filepath.Join(dir, "link")
			if err := os.Symlink(t.TempDir(), link); err != nil {
				t.Fatal(err)
			}
			return &Options{Configs: sample(), OutputDir: link}
		}, "is no directory"},
		"documentation network": {func(dir string) *Options {
			return &Options{Configs: append(sample(), write(t, dir, "node", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {addresses: [{type: InternalIP, address: 192.0.2.1}]}\n")), OutputDir: filepath.Join(dir, "out")}
		}, "192.0.2.0/24"},
		"no nodes": {func(dir string) *Options {
			return &Options{Configs: sample()[:4], OutputDir: filepath.Join(dir, "out")}
		}, "there is no Node"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := run(t, tc.options(dir))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, ".out*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "out")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("there is an output: %v", err)
			}
		})
	}
}

// renderedSample returns the input of the sample and what Render makes of it.
func renderedSample(t *testing.T) (*bootstrap.Input, *bootstrap.Result) {
	t.Helper()
	data, err := (&Options{Configs: sample()}).read(strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	input, err := bootstrap.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	_, ctx := ktesting.NewTestContext(t)
	result, err := bootstrap.Render(ctx, input, testNow())
	if err != nil {
		t.Fatal(err)
	}
	return input, result
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVerifyFinds changes a file between writing and verification. The verification must fail.
func TestVerifyFinds(t *testing.T) {
	input, result := renderedSample(t)
	stranger, err := pki.NewAuthority(pki.Profile{CommonName: "x", Key: pki.ECDSAP256, Validity: time.Hour}, testNow())
	if err != nil {
		t.Fatal(err)
	}
	generation := "nodes/master-0/etc/kubernetes/static-pod-resources/etcd-pod-1/generation-1/"
	for name, tc := range map[string]struct {
		file string
		data []byte
		want string
	}{
		"nothing":         {},
		"foreign bundle":  {"tls/etcd-ca-bundle.crt", stranger.CertPEM(), "no bundle beside it verifies the certificate"},
		"foreign key":     {"tls/etcd-client.key", result.TLS["etcd-metric-client.key"], "does not belong to the certificate"},
		"lonely key":      {"tls/x.key", result.TLS["etcd-client.key"], "belongs to no pair"},
		"bundle cut off":  {"tls/etcd-ca-bundle.crt", []byte("-----BEGIN CERTIFICATE-----\n"), "malformed PEM"},
		"leaf on a node":  {generation + "secrets/etcd-all-certs/etcd-peer-master-0.crt", result.TLS["etcd-client.crt"], "master-0"},
		"trust on a node": {generation + "configmaps/etcd-all-bundles/server-ca-bundle.crt", stranger.CertPEM(), "it is not what was installed"},
		"manifest":        {"nodes/master-0/etc/kubernetes/manifests/etcd-pod.yaml", []byte("x"), "the installer has not made it"},
		"object":          {"manifests/10-secret-openshift-etcd-etcd-client.yaml", []byte("# nothing\n"), "create secrets/etcd-client"},
	} {
		t.Run(name, func(t *testing.T) {
			stage, err := newStaging(filepath.Join(t.TempDir(), "out"))
			if err != nil {
				t.Fatal(err)
			}
			_, ctx := ktesting.NewTestContext(t)
			if err := stage.write(ctx, result); err != nil {
				t.Fatal(err)
			}
			if tc.file != "" {
				if err := os.WriteFile(filepath.Join(stage.dir, tc.file), tc.data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err = stage.verify(ctx, input, result, testNow())
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// TestFinishRefusesWhatCameInBetween creates the output directory while the command runs. It must stay as it is.
func TestFinishRefusesWhatCameInBetween(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out")
	stage, err := newStaging(output)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(output, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, output, "theirs", "x")
	if err := stage.finish(); err == nil {
		t.Error("it replaced what somebody else has made")
	}
	if err := stage.discard(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(output, "theirs")); err != nil || string(data) != "x" {
		t.Errorf("theirs: %q, %v", data, err)
	}
}
