// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/generated/clientset/versioned"
)

// httpReady checks a health endpoint. It does not verify the certificate: waitForAPI checks again through
// kube-apiserver, which verifies it.
func httpReady(url string) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
		if err != nil {
			return fmt.Errorf("read the answer of %s: %w", url, err)
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
		}
		return nil
	}
}

// waitForAPI waits until kube-apiserver reaches both the aggregated API and the webhook with verified certificates.
// It lists a resource of the API, and makes a dry-run write that the webhook reviews.
func (in *Installation) waitForAPI(ctx context.Context) error {
	client, err := versioned.NewForConfig(in.Cluster.AdminConfig())
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.CertrotationV1alpha1().CertificateRotations("").List(ctx, metav1.ListOptions{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the aggregated API (see `kubectl describe apiservice v1alpha1.certrotation.dev` and the logs of serve): %w: %w", err, last)
	}
	in.say("%-24s answers through kube-apiserver", "aggregated API")
	return in.waitForGuard(ctx, client)
}
