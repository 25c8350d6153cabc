// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"certrotation.dev/controller/durable"
	"certrotation.dev/controller/rollout/generation"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
)

func TestMain(m *testing.M) {
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
	flag.Bool("update", false, "write the golden files")
	flag.Parse()
	os.Exit(m.Run())
}

const installerTemplate = `{apiVersion: v1, kind: Pod, metadata: {name: etcd}, spec: {
  containers: [{name: etcd, image: etcd, volumeMounts: [{name: r, mountPath: /r, readOnly: true}]}],
  volumes: [{name: r, hostPath: {path: %s/etcd-pod-REVISION}}]}}`

// world is a node with the mounted objects of a revision.
type world struct {
	dir  string
	args []string
}

// start is when the certificates begin. They are valid for an hour.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: t.TempDir()}
	for _, dir := range []string{"manifests"} {
		if err := os.Mkdir(w.path(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.path("termination-log"), []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := start()
	ca, err := pki.NewAuthority(pki.Profile{CommonName: "ca", Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(pki.Profile{CommonName: "n", Usages: []pki.Usage{pki.ServerAuth}, Key: pki.ECDSAP256, Validity: time.Hour}, now)
	if err != nil {
		t.Fatal(err)
	}
	key, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	content := nodepod.Content{
		PodTemplate: fmt.Appendf(nil, installerTemplate, w.path("resources")),
		ConfigMaps:  map[string]map[string][]byte{"bundles": {"ca.crt": ca.Certificate.PEM()}},
		Secrets:     map[string]map[string][]byte{"certs": {"n.crt": leaf.CertPEM(), "n.key": key}},
		Reloaded:    sets.New("certs"),
	}
	project(t, w.path("source/configmaps/bundles"), content.ConfigMaps["bundles"])
	project(t, w.path("source/configmaps/etcd-pod"), map[string][]byte{"pod.yaml": content.PodTemplate})
	project(t, w.path("source/secrets/certs"), content.Secrets["certs"])
	w.args = []string{
		"--rollout=etcd", "--revision=7", "--node-name=master-0", "--node-ip=10.0.0.5", "--source-dir=" + w.path("source"),
		"--resource-dir=" + w.path("resources"), "--manifest-dir=" + w.path("manifests"), "--reloaded-secret=certs",
		"--permit-image=etcd", "--node-content-hash=" + content.ContentHash(), "--content-hash=" + content.ContentHash(), "--restart-hash=" + content.RestartHash(), "--termination-log=" + w.path("termination-log"),
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// options returns validated options without running the command: logging can be set up only once per process.
func (w *world) options(t *testing.T, more ...string) *InstallerOptions {
	t.Helper()
	command, options := newInstallerCommand()
	options.Clock = clocktesting.NewFakePassiveClock(start())
	if err := command.ParseFlags(append(w.args, more...)); err != nil {
		t.Fatal(err)
	}
	options.Complete()
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	return options
}

func (w *world) message(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.path("termination-log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstaller(t *testing.T) {
	w := newWorld(t)
	steps := []struct {
		name string
		more []string
		want string
	}{
		{"first", nil, `{"revision":7,"changed":true,"restart":true}`},
		{"again", nil, `{"revision":7,"changed":false,"restart":false}`},
		{"later", []string{"--revision=8"}, `{"revision":8,"changed":true,"restart":false}`},
		{"older", nil, `{"revision":7,"reason":"Newer","error":"a more recent revision is on this node: etcd-pod-7/current points at generation 8, asked for was 7"}`},
		{"other hash", []string{"--restart-hash=x"}, `"reason":"Refused"`},
		{"other content of the node", []string{"--node-content-hash=x"}, `"reason":"Refused"`},
		{"Secret that is not mounted", []string{"--reloaded-secret=gone"}, `"reason":"Refused","error":"the content of the revision is refused: Secret gone has no key`},
		{"no manifest directory", []string{"--manifest-dir=/does/not/exist"}, `"reason":"Failed"`},
		{"no template", []string{"--pod-key=x"}, `"reason":"Refused"`},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			err := w.options(t, step.more...).Run(t.Context())
			got := w.message(t)
			if !strings.Contains(got, step.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("message %s, want %s", got, step.want)
			}
			if failed := strings.Contains(got, "error"); failed != (err != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRunStops(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.options(t).Run(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(w.message(t), ReasonInterrupted) {
		t.Errorf("SIGTERM: %v, %s", err, w.message(t))
	}
	if err := w.options(t, "--timeout=1ns").Run(t.Context()); !errors.Is(err, errTimeout) || !strings.Contains(w.message(t), ReasonInterrupted) {
		t.Errorf("timeout: %v, %s", err, w.message(t))
	}
	if err := w.options(t, "--termination-log="+w.path("none")).Run(t.Context()); err != nil {
		t.Errorf("without a termination log: %v", err)
	}
	if err := w.options(t, "--termination-log="+w.dir).Run(t.Context()); err == nil {
		t.Error("a termination log that cannot be written: no error")
	}
}

func TestOutcomeIsBounded(t *testing.T) {
	for _, text := range []string{"x", "\x00", "…"} {
		line, err := outcome{Revision: 1, Error: strings.Repeat(text, 5000)}.line()
		if err != nil {
			t.Fatal(err)
		}
		if len(line) > maxLine || !json.Valid(line) || !strings.Contains(string(line), "…") {
			t.Errorf("%d bytes: %.100s", len(line), line)
		}
	}
	if reasonOf(fmt.Errorf("x: %w", durable.ErrBusy)) != ReasonBusy {
		t.Error("a lock that is held is not Busy")
	}
}

func TestExpiredLeavesAreRefused(t *testing.T) {
	w := newWorld(t)
	o := w.options(t)
	o.Clock = clocktesting.NewFakePassiveClock(start().Add(2 * time.Hour))
	if err := o.Run(t.Context()); !errors.Is(err, generation.ErrContent) {
		t.Errorf("got error %v, want that the content is refused", err)
	}
	if message := w.message(t); !strings.Contains(message, `"reason":"`+ReasonRefused+`"`) || !strings.Contains(message, "all of its leaves have expired") {
		t.Errorf("message %s", message)
	}
	if _, err := os.Stat(w.path("manifests/etcd-pod.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a manifest: %v", err)
	}
}

// TestRunWithACompanion installs two static pods of one revision, with the manifest names of the class.
func TestRunWithACompanion(t *testing.T) {
	w := newWorld(t)
	const companion = "kube-apiserver"
	text := strings.Replace(fmt.Sprintf(installerTemplate, w.path("resources")), "name: etcd", "name: "+companion, 1)
	options := w.options(t, "--manifest-file=etcd.yaml", "--companion=kube-apiserver=kube-apiserver.yaml", `--permit-companion=kube-apiserver={"images":["etcd"]}`)
	if _, err := options.install(t.Context()); err == nil || !strings.Contains(err.Error(), "configmaps/etcd-pod/kube-apiserver.yaml is not in") {
		t.Errorf("without its template: %v", err)
	}
	if err := os.RemoveAll(w.path("source/configmaps/etcd-pod")); err != nil {
		t.Fatal(err)
	}
	project(t, w.path("source/configmaps/etcd-pod"), map[string][]byte{"pod.yaml": fmt.Appendf(nil, installerTemplate, w.path("resources")), "kube-apiserver.yaml": []byte(text)})
	content, err := readSource(w.path("source"), "etcd-pod", "pod.yaml", []string{companion})
	if err != nil {
		t.Fatal(err)
	}
	content.Reloaded = sets.New("certs")
	options.NodeContentHash, options.ContentHash, options.RestartHash = content.ContentHash(), content.ContentHash(), content.RestartHash()
	result, err := options.install(t.Context())
	if err != nil || !result.Restart {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, name := range []string{"manifests/etcd.yaml", "manifests/kube-apiserver.yaml", "resources/etcd-pod-7/etcd.yaml", "resources/etcd-pod-7/kube-apiserver.yaml"} {
		if _, err := os.Stat(w.path(name)); err != nil {
			t.Error(err)
		}
	}
}

func TestValidateCompanions(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing permitted": {[]string{"--companion=a=a.yaml"}, "--permit-companion=a=JSON is required"},
		"no JSON":           {[]string{"--companion=a=a.yaml", "--permit-companion=a=x"}, "--permit-companion"},
		"an unknown field":  {[]string{"--companion=a=a.yaml", `--permit-companion=a={"image":"x"}`}, "image"},
	} {
		w := newWorld(t)
		command, options := newInstallerCommand()
		if err := command.ParseFlags(append(w.args, tc.args...)); err != nil {
			t.Fatal(err)
		}
		options.Complete()
		if err := options.Validate(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	command, _ := newInstallerCommand()
	if err := command.ParseFlags([]string{"--companion=a"}); err == nil {
		t.Error("a companion without a manifest is accepted")
	}
}

func TestInstallerValidate(t *testing.T) {
	o := NewInstallerOptions()
	o.SourceDirectory, o.ResourceDirectory, o.ManifestDirectory, o.PodKey, o.Timeout = "a", "b", "c", "", 0
	err := o.Validate()
	for _, name := range []string{
		"--rollout", "--revision", "--node-name", "--node-ip", "--source-dir", "--resource-dir", "--manifest-dir", "--pod-key", "--content-hash",
		"--restart-hash", "--node-content-hash", "--permit-image", "--timeout",
	} {
		if err == nil || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%s is accepted: %v", name, err)
		}
	}
}

// TestInstallerCommand runs the whole command once: logging can be set up only once per process.
// resetLogging lets a command apply its logging flags, which each process may do once.
func resetLogging(t *testing.T) {
	t.Helper()
	if err := logsapi.ResetForTest(utilfeature.DefaultFeatureGate); err != nil {
		t.Fatal(err)
	}
}

func TestInstallerCommand(t *testing.T) {
	resetLogging(t)
	w := newWorld(t)
	command, options := newInstallerCommand()
	options.Clock = clocktesting.NewFakePassiveClock(start())
	command.SetArgs(w.args)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"revision":7,"changed":true,"restart":true}`+"\n", w.message(t)); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// TestInstallerHelp compares --help with testdata/installer.help.txt, without the flags of the libraries. `go test
// -update` writes the file.
func TestInstallerHelp(t *testing.T) {
	var out bytes.Buffer
	command := NewInstallerCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.Execute(); err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(out.String(), "\nLogs flags:")
	golden := filepath.Join("testdata", "installer.help.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("--help (-want +got):\n%s", diff)
	}
}
