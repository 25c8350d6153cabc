// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// KubernetesVariable is the environment variable that names the Kubernetes of those tests that can run on an older one, as
// Config.Kubernetes does.
const KubernetesVariable = "CERTROTATION_KUBERNETES"

// versioned are the programs that there are of an older Kubernetes too.
var versioned = []string{APIServer, ControllerManager, "kube-scheduler", "kubectl", "kubelet"}

// ToolPath is the path of a program below Config.BinDir, for Config.Kubernetes.
func ToolPath(kubernetes, program string) string {
	if kubernetes == "" || !slices.Contains(versioned, program) {
		return program
	}
	return filepath.Join("kubernetes-"+kubernetes, program)
}

// HowToBuild says how the programs of Config.Kubernetes are built that target, of make, builds of the newest.
func HowToBuild(kubernetes, target string) string {
	if kubernetes == "" {
		return fmt.Sprintf("run `make %s`", target)
	}
	return fmt.Sprintf("run `make %s` and `hack/build-tools.sh kubernetes-%s`", target, kubernetes)
}

// OldestKubernetes is the oldest that certrotation is tested on: of those that hack/tools has a module of.
func OldestKubernetes() (string, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return "", err
	}
	modules, err := filepath.Glob(filepath.Join(root, "hack", "tools", "kubernetes-*"))
	if err != nil {
		return "", err
	}
	var oldest *version.Version
	for _, module := range modules {
		v, err := version.ParseMajorMinor(strings.TrimPrefix(filepath.Base(module), "kubernetes-"))
		if err != nil {
			return "", fmt.Errorf("the module %s is of no version: %w", module, err)
		}
		if oldest == nil || v.LessThan(oldest) {
			oldest = v
		}
	}
	if oldest == nil {
		return "", fmt.Errorf("%s has no module of an older Kubernetes", filepath.Join(root, "hack", "tools"))
	}
	return fmt.Sprintf("%d.%d", oldest.Major(), oldest.Minor()), nil
}
