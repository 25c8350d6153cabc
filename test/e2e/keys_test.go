// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/test/canary"
	"certrotation.dev/test/cluster"
	"certrotation.dev/test/cluster/installation"
)

// watchKeys collects every key that a Secret has while the tests run, and what certrotation writes outside of its
// logs.
func watchKeys(ctx context.Context, s *system) (*canary.Run, error) {
	admin := s.Cluster.AdminConfig()
	pages := []canary.Page{
		{Name: "the metrics of controller", Read: func(ctx context.Context) (string, error) {
			return installation.Scrape(ctx, admin, s.ControllerURL()+"/metrics")
		}},
		{Name: "the metrics of serve", Read: func(ctx context.Context) (string, error) {
			return installation.Scrape(ctx, admin, s.APIURL()+"/metrics")
		}},
	}
	for _, path := range []string{
		"/apis/certrotation.dev/v1alpha1/certificaterotations", "/apis/certrotation.dev/v1alpha1/bundlestatuses",
		"/apis/config.certrotation.dev/v1alpha1/rotationrecords", "/apis/config.certrotation.dev/v1alpha1/rotationconfigurations",
	} {
		pages = append(pages, canary.Page{Name: path, Read: func(ctx context.Context) (string, error) {
			text, err := s.kube.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
			return string(text), err
		}})
	}
	return canary.Watch(ctx, s.kube, pages...)
}

// stop stops the system, so that the logs are complete. If certrotation has disclosed a private key of a Secret,
// stop returns an error and keeps the files.
func (s *system) stop(c *cluster.Cluster) error {
	watched := s != nil && s.keys != nil
	if watched {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s.keys.ReadPages(ctx)
		s.keys.Stop()
	}
	if err := c.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "stop the system:", err)
	}
	if watched {
		fmt.Println("canary:", s.keys.Summary())
		if err := s.keys.Search(c.LogDir()); err != nil {
			return err
		}
	}
	_ = os.RemoveAll(c.Dir())
	return nil
}

// TestKeyInALogIsFound: the search at the end of the tests finds a key of a Secret in a log.
func TestKeyInALogIsFound(t *testing.T) {
	s := theSystem(t)
	secret, err := s.kube.CoreV1().Secrets(installation.MTLSNamespace).Get(t.Context(), signer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	line := fmt.Appendf(nil, "I1123 signer.go:1] \"Signed\" key=%q\n", secret.Data[corev1.TLSPrivateKeyKey])
	if err := os.WriteFile(filepath.Join(logs, "controller.log"), line, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the search finds a key that was put into a log", func(context.Context) (bool, string) {
		err := s.keys.Search(logs)
		// The key may have been seen in another slot first.
		found := fmt.Sprintf("of secret %s/%s ", secret.Namespace, secret.Name)
		return err != nil && strings.Contains(err.Error(), "controller.log has key ") && strings.Contains(err.Error(), found), fmt.Sprint(err)
	})
}
