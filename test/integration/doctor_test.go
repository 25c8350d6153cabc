// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"certrotation.dev/cmd/kubectl-certrotation/app"
)

// TestDoctor asks a real installation, whose programs are no Deployments: nothing has failed, and what can be checked is
// as doctor expects it.
func TestDoctor(t *testing.T) {
	d := newDemo(t, "doctor")
	// Before the API has seen a new namespace, doctor finds nothing wrong in it.
	eventually(t, "status has the trust domain", func(ctx context.Context) error {
		if out, code := d.plugin(ctx, "status"); code != 0 || !strings.Contains(out, d.namespace+"/service") {
			return fmt.Errorf("exit code %d: %s", code, out)
		}
		return nil
	})
	eventually(t, "a healthy installation", d.examine)
	if out, code := d.plugin(t.Context(), "history", "service-signer"); code != 0 || !strings.Contains(out, "is valid from here") {
		t.Errorf("history has exit code %d:\n%s", code, out)
	}
}

// TestDoctorCannotAsk: without rights, and without the API, doctor says so in a sentence.
func TestDoctorCannotAsk(t *testing.T) {
	resting, bare := restingPlane.use(t), barePlane.use(t)
	stranger, err := resting.UserKubeconfig("stranger")
	if err != nil {
		t.Fatal(err)
	}
	for kubeconfig, says := range map[string]string{
		stranger:          "error: you may read nothing of certrotation in namespace default\n",
		bare.Kubeconfig(): "error: certrotation is half installed: its definitions are here, and the APIService v1alpha1.certrotation.dev is not\n",
	} {
		if out, code := plugin(t.Context(), kubeconfig, "default", "doctor"); code != 2 || !strings.HasPrefix(out, says) {
			t.Errorf("exit code %d: %s", code, out)
		}
	}
}

// examine runs doctor and returns what has failed, or did not pass.
func (d *demo) examine(ctx context.Context) error {
	out, code := d.plugin(ctx, "doctor", "-o", "json")
	if code != 0 {
		return fmt.Errorf("exit code %d: %s", code, out)
	}
	var report app.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		return fmt.Errorf("read %q: %w", out, err)
	}
	for _, group := range []string{"API", "definitions", "guard", "own CA", "certificates", "rotations", "clocks", "your rights"} {
		if !slices.ContainsFunc(report.Checks, func(c app.Check) bool { return c.Group == group && c.Result == "Passed" }) {
			return fmt.Errorf("%s did not pass: %s", group, out)
		}
	}
	return nil
}

func (d *demo) plugin(ctx context.Context, args ...string) (string, int) {
	return plugin(ctx, d.Kubeconfig(), d.namespace, args...)
}

// plugin runs kubectl certrotation, and returns its output and exit code.
func plugin(ctx context.Context, kubeconfig, namespace string, args ...string) (string, int) {
	var out bytes.Buffer
	config := app.Config{Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}}
	code := app.Run(ctx, config, append([]string{"--kubeconfig", kubeconfig, "-n", namespace}, args...))
	return out.String(), code
}
