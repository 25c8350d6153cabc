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

// KubernetesVariable is the environment variable with the Kubernetes version of tests that can run on an older one.
// Its format is the one of Config.Kubernetes.
const KubernetesVariable = "CERTROTATION_KUBERNETES"

// versioned are the programs that are also built for older versions of Kubernetes.
var versioned = []string{APIServer, ControllerManager, "kube-scheduler", "kubectl", "kubelet"}

// ToolPath returns the path of a program relative to Config.BinDir, for a version as in Config.Kubernetes.
func ToolPath(kubernetes, program string) string {
	if kubernetes == "" || !slices.Contains(versioned, program) {
		return program
	}
	return filepath.Join("kubernetes-"+kubernetes, program)
}

// HowToBuild returns how to build the programs of a Kubernetes version. target is the make target that builds the
// newest.
func HowToBuild(kubernetes, target string) string {
	if kubernetes == "" {
		return fmt.Sprintf("run `make %s`", target)
	}
	return fmt.Sprintf("run `make %s` and `hack/build-tools.sh kubernetes-%s`", target, kubernetes)
}

// OldestKubernetes returns the oldest version that certrotation is tested on: the oldest with a module in hack/tools.
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
