// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/contenthash"
	"certrotation.dev/test/kubeletvolume"
)

func hashOf(content map[string]string) string {
	return contenthash.OfConfigMap(&corev1.ConfigMap{Data: content})
}

// replaced returns a content that was written over the former one.
func replaced(former map[string]string, anchors string) map[string]string {
	config := &corev1.ConfigMap{Data: map[string]string{"ca-bundle.crt": anchors}}
	contenthash.SupersedeConfigMap(config, &corev1.ConfigMap{Data: former})
	return config.Data
}

func TestWait(t *testing.T) {
	old, wanted := map[string]string{"ca-bundle.crt": "old"}, map[string]string{"ca-bundle.crt": "old and new"}
	later := replaced(wanted, "new")
	for name, tt := range map[string]struct {
		// at is what kubelet mounts, by the time since the start.
		at    map[time.Duration]map[string]string
		after time.Duration
		fails string
	}{
		"it is there":              {at: map[time.Duration]map[string]string{0: wanted}},
		"a cached version first":   {at: map[time.Duration]map[string]string{0: old, 40 * time.Second: wanted}, after: 40 * time.Second},
		"nothing is mounted first": {at: map[time.Duration]map[string]string{3 * time.Second: wanted}, after: 3 * time.Second},
		"a later version":          {at: map[time.Duration]map[string]string{0: later}},
		"a much later version":     {at: map[time.Duration]map[string]string{0: replaced(later, "newest")}},
		"cached, then a later one": {at: map[time.Duration]map[string]string{0: old, 40 * time.Second: later}, after: 40 * time.Second},
		"one of another history":   {at: map[time.Duration]map[string]string{0: replaced(old, "new")}, after: time.Minute, fails: "it has " + hashOf(replaced(old, "new"))},
		"it never comes":           {at: map[time.Duration]map[string]string{0: old}, after: time.Minute, fails: "it has " + hashOf(old)},
		"it is gone again":         {at: map[time.Duration]map[string]string{100 * time.Millisecond: wanted, 200 * time.Millisecond: old}, after: time.Minute, fails: "it has " + hashOf(old)},
	} {
		t.Run(name, func(t *testing.T) {
			volume := kubeletvolume.New(t)
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				for at, content := range tt.at {
					if at == 0 {
						volume.Swap(t, content)
						continue
					}
					time.AfterFunc(at, func() { volume.Swap(t, content) })
				}
				config := &WaitConfig{Directory: volume.Dir, Content: hashOf(wanted), Timeout: time.Minute, Interval: time.Second}
				err := config.Run(t.Context())
				if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%v, want %q", err, tt.fails)
				}
				if after := time.Since(began); after < tt.after || after > tt.after+time.Second {
					t.Errorf("it ended after %s, want %s", after, tt.after)
				}
			})
		})
	}
}

func TestWaitForADirectoryThatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := &WaitConfig{Directory: filepath.Join(t.TempDir(), "none"), Content: hashOf(nil), Timeout: time.Minute, Interval: time.Second}
		if err := config.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "mountPath") {
			t.Errorf("%v, want that it cannot be read", err)
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	config := &WaitConfig{Directory: t.TempDir(), Content: strings.Repeat("0", 64), Timeout: time.Hour, Interval: time.Hour}
	if err := config.Run(ctx); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v, want that it was cancelled", err)
	}
}

func TestArguments(t *testing.T) {
	hash := strings.Repeat("0", 64)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no hash":              {[]string{"/trust"}, "--for-content"},
		"another hash":         {[]string{"--for-content=sha1", "/trust"}, "--for-content"},
		"no directory":         {[]string{"--for-content=" + hash}, "accepts 1 arg"},
		"a relative directory": {[]string{"--for-content=" + hash, "trust"}, "absolute"},
		"no time":              {[]string{"--for-content=" + hash, "--timeout=0s", "/trust"}, "--timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			command, options := newWaitCommand()
			command.SilenceErrors = true
			command.SetArgs(tt.args)
			command.RunE = func(_ *cobra.Command, args []string) error {
				options.Directory = args[0]
				return options.Validate()
			}
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestWaitHelp compares --help with testdata/wait.help.txt, without the flags of the libraries. `go test -update`
// writes the file.
func TestWaitHelp(t *testing.T) {
	var out bytes.Buffer
	command := NewWaitCommand()
	command.SetOut(&out)
	command.SetArgs([]string{"--help"})
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, _, _ := strings.Cut(out.String(), "Logs flags:")
	const golden = "testdata/wait.help.txt"
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("--help changed; run with -update and look at it:\n%s", got)
	}
}
