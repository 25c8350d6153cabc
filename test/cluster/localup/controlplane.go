// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"certrotation.dev/test/cluster/workernodes"
)

// planeOnNodes is the directory of `make up SAMPLE=control-plane` in .local.
const planeOnNodes = "control-plane"

const nextControlPlane = `
What to try next:
  . .local/control-plane/env
  kubectl get certificaterotations -n plane-a -o wide
  kubectl certrotation rotate -n plane-a ca          # all authorities; or, with the keys:
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-start
  kubectl get pods -n plane-a -o wide -w
  kubectl get rotconf -n plane-a control-plane -o yaml          # status.credentials has the phases
  kubectl certrotation operate -n plane-a control-plane rotate-credentials-complete
  make down
`

// upControlPlane starts three nodes with a hosted control plane and its operator.
func upControlPlane(ctx context.Context, out io.Writer, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := workernodes.Start(ctx, workernodes.Config{Dir: dir, Detach: true, Progress: out})
	if err != nil {
		return failedControlPlane("start three nodes", err)
	}
	if err := c.InstallControlPlane(ctx); err != nil {
		return failedControlPlane("start the control plane", err)
	}
	env := fmt.Sprintf("export KUBECONFIG=%q\nexport PATH=\"%s:%s:$PATH\"\n", c.Installation.Cluster.Kubeconfig(),
		filepath.Dir(c.Installation.Cluster.Tool("kubectl")), filepath.Dir(c.Binary("certrotation")))
	if err := os.WriteFile(filepath.Join(dir, "env"), []byte(env), 0o600); err != nil {
		return failedControlPlane("write the environment", err)
	}
	if err := show(ctx, out, c.Installation, onNodes...); err != nil {
		return failedControlPlane("print what there is", err)
	}
	fmt.Fprint(out, nextControlPlane)
	return nil
}

func failedControlPlane(step string, err error) error {
	return fmt.Errorf("%s: %w\nThe logs are in .local/control-plane. `make up SAMPLE=control-plane` again starts what is missing; `make down` removes everything", step, err)
}
