// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"certrotation.dev/test/cluster"
)

// started is the cost of starting a program, by repeat, and its memory after the last start.
type started struct {
	seconds, cpu []float64
	memory       memory
}

// coldStart restarts serve, and then waits until the API shows every certificate.
func (b *bench) coldStart(ctx context.Context, size int) (started, error) {
	var s started
	url, err := b.serveReadyURL()
	if err != nil {
		return s, err
	}
	if s, err = b.restarts(ctx, b.in.Serve, url); err != nil {
		return s, err
	}
	return s, b.waitForCertificates(ctx, size)
}

// restarts repeatedly stops a certrotation program and starts it until it is ready.
func (b *bench) restarts(ctx context.Context, program *cluster.Process, readyURL string) (s started, err error) {
	for range b.opts.rounds {
		if err := program.Stop(ctx); err != nil {
			return s, err
		}
		begun := time.Now()
		if err := program.Start(); err != nil {
			return s, err
		}
		if err := program.WaitReady(ctx, func(ctx context.Context) error { return ready(ctx, readyURL) }); err != nil {
			return s, err
		}
		s.seconds = append(s.seconds, time.Since(begun).Seconds())
		cpu, err := cpuSeconds(program.Pid())
		if err != nil {
			return s, err
		}
		s.cpu = append(s.cpu, cpu)
	}
	s.memory, err = memoryOf(program.Pid())
	return s, err
}

// waitForCertificates waits until kube-apiserver routes to serve again.
func (b *bench) waitForCertificates(ctx context.Context, size int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var last error
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		list, err := b.rotations.CertrotationV1alpha1().CertificateRotations("").List(ctx, metav1.ListOptions{})
		last = atLeast(size, len(list.Items), err)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %d certificates (the last answer was %w): %w", size, last, err)
	}
	return nil
}

// serveReadyURL is /readyz of serve itself. The installation keeps its port in a file.
func (b *bench) serveReadyURL() (string, error) {
	file := filepath.Join(b.cluster.Dir(), "installation.json")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("find the port of serve: %w", err)
	}
	var ports struct {
		API int `json:"api"`
	}
	if err := json.Unmarshal(text, &ports); err != nil {
		return "", fmt.Errorf("find the port of serve in %s: %w", file, err)
	}
	if ports.API == 0 {
		return "", fmt.Errorf("find the port of serve in %s: %w", file, errors.New("there is none"))
	}
	return fmt.Sprintf("https://127.0.0.1:%d/readyz", ports.API), nil
}

func ready(ctx context.Context, url string) error {
	// The identity of the server does not matter for readiness.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
