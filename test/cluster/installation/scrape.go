// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// Scrape returns the answer of one of this repository's processes to a user, such as the metrics to an administrator.
// It does not verify the server.
func Scrape(ctx context.Context, who *rest.Config, url string) (string, error) {
	config := rest.CopyConfig(who)
	config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile, config.TLSClientConfig.Insecure = nil, "", true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", fmt.Errorf("make a client for %s: %w", url, err)
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", fmt.Errorf("read the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s: %.200s", url, response.Status, body)
	}
	return string(body), nil
}
