// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/cluster"
)

// isOf prints the versions of kube-apiserver and the kubelets, and fails if another version is wanted.
func (s *system) isOf(ctx context.Context, kubernetes string) error {
	server, err := s.Client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("ask kube-apiserver for its version: %w", err)
	}
	versions := map[string]string{cluster.APIServer: server.GitVersion}
	workers, err := s.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	for i := range workers.Items {
		versions["kubelet of "+workers.Items[i].Name] = workers.Items[i].Status.NodeInfo.KubeletVersion
	}
	for program, version := range versions {
		if kubernetes != "" && !strings.HasPrefix(version, "v"+kubernetes+".") {
			return fmt.Errorf("%s is %s, want %s", program, version, kubernetes)
		}
	}
	fmt.Fprintln(os.Stderr, "versions:", versions)
	return nil
}
