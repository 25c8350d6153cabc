// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// DefineForTest has the API server of a test serve the kinds that certrotation stores, for tests that need nothing else
// of manifests/base.
func (c *Cluster) DefineForTest(t testing.TB) {
	t.Helper()
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "manifests", "crds", "*_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found the definitions %v: %v", files, err)
	}
	client, err := dynamic.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, file := range files {
		if err := define(t.Context(), definitions, file); err != nil {
			t.Fatal(err)
		}
	}
}

// define creates a definition and waits until it is served.
func define(ctx context.Context, definitions dynamic.ResourceInterface, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read definition: %w", err)
	}
	made := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &made.Object); err != nil {
		return fmt.Errorf("read definition %s: %w", file, err)
	}
	if _, err := definitions.Create(ctx, made, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create definition %s: %w", made.GetName(), err)
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		live, err := definitions.Get(ctx, made.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return established(live), nil
	})
	if err != nil {
		return fmt.Errorf("wait until definition %s is established: %w", made.GetName(), err)
	}
	return nil
}

func established(definition *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return false
	}
	for _, entry := range conditions {
		if condition, ok := entry.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
			return true
		}
	}
	return false
}
