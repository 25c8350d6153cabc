// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/reload"
	"certrotation.dev/test/kubeletvolume"
)

// volumes are those of Secrets, which the test writes as kubelet does. Its goroutine is the only one that writes
// them.
type volumes struct {
	client    kubernetes.Interface
	namespace string
	of        map[string]*kubeletvolume.Volume
	// versions of the Secrets that are mounted.
	versions map[string]string
	// requests are sent while the volumes change. Until then it is nil.
	mu       sync.Mutex
	requests *requests
}

// followSecrets mounts Secrets until the test ends.
func followSecrets(t *testing.T, client kubernetes.Interface, namespace string, names ...string) *volumes {
	t.Helper()
	v := &volumes{client: client, namespace: namespace, of: map[string]*kubeletvolume.Volume{}, versions: map[string]string{}}
	for _, name := range names {
		v.of[name] = kubeletvolume.New(t)
	}
	for name := range v.of {
		eventually(t, "the leaf "+name+" is mounted", func(ctx context.Context) error { return v.mount(ctx, t, name) })
	}
	background(t, func(ctx context.Context) {
		every(ctx, 100*time.Millisecond, func() {
			for _, name := range names {
				// The next turn tries again.
				_ = v.mount(ctx, t, name)
			}
		})
	})
	return v
}

// mount swaps the content of a volume if its Secret has changed. Before that, requests are answered with the former
// content.
func (v *volumes) mount(ctx context.Context, t *testing.T, name string) error {
	secret, err := v.client.CoreV1().Secrets(v.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil || secret.ResourceVersion == v.versions[name] {
		return err
	}
	content := map[string]string{}
	for key, value := range secret.Data {
		content[key] = string(value)
	}
	if content[corev1.ServiceAccountRootCAKey] == "" {
		return fmt.Errorf("Secret %s has no ca.crt", name)
	}
	v.mu.Lock()
	requests := v.requests
	v.mu.Unlock()
	if requests != nil {
		if err := requests.awaitMore(ctx, requestsOfEach); err != nil {
			return err
		}
	}
	v.of[name].Swap(t, content)
	v.versions[name] = secret.ResourceVersion
	return nil
}

// await has later changes wait for requests.
func (v *volumes) await(requests *requests) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests = requests
}

// background runs a function until the test ends.
func background(t *testing.T, run func(context.Context)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// every runs a function until ctx ends.
func every(ctx context.Context, pause time.Duration, run func()) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		run()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// requests counts what came of the requests that go around the ring.
type requests struct {
	mu       sync.Mutex
	stage    v1alpha1.Stage
	answered map[v1alpha1.Stage]int
	failed   []string
	// stop ends the client and waits for its last request.
	stop func()
}

// sendRequests sends requests to the last program until the test ends, each with a new connection.
func (r *ring) sendRequests(t *testing.T) *requests {
	t.Helper()
	source := r.startClient(t)
	q := &requests{answered: map[v1alpha1.Stage]int{}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	q.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(q.stop)
	running.Go(func() { every(ctx, 50*time.Millisecond, func() { q.observeStage(ctx, r) }) })
	config := source.ClientConfig(nil)
	config.ServerName = r.servers[len(r.servers)-1].name + ".parties.svc"
	url := "https://" + r.servers[len(r.servers)-1].address + "/"
	for range 2 {
		running.Go(func() {
			every(ctx, 20*time.Millisecond, func() {
				code, text, err := get(ctx, url, config)
				if ctx.Err() == nil {
					q.note(code, text, err)
				}
			})
		})
	}
	return q
}

// startClient is a program of Go that follows its volume and acknowledges.
func (r *ring) startClient(t *testing.T) *reload.Source {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", r.mayReport(t, "client"))
	volume := r.volumes.of["client"]
	files := reload.Files{Certificate: volume.Path("tls.crt"), Key: volume.Path("tls.key"), Anchors: volume.Path("ca.crt")}
	source, unread := reload.Load(files)
	if err := errors.Join(err, unread); err != nil {
		t.Fatal(err)
	}
	api, err := reload.Connect(config, r.namespace)
	if err != nil {
		t.Fatal(err)
	}
	background(t, func(ctx context.Context) { source.Follow(ctx, files) })
	background(t, func(ctx context.Context) {
		source.Acknowledge(ctx, api, reload.Member{Namespace: r.namespace, Signer: r.signer, Party: "client", Name: "client", Instance: "client"})
	})
	return source
}

func (q *requests) observeStage(ctx context.Context, r *ring) {
	now, err := r.own.CertrotationV1alpha1().CertificateRotations(r.namespace).Get(ctx, r.signer, metav1.GetOptions{})
	if err != nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stage = now.Status.Stage
}

func (q *requests) note(code int, text string, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil || code != http.StatusOK || text != "around" {
		q.failed = append(q.failed, fmt.Sprintf("in stage %s: %d %q %v", q.stage, code, text, err))
		return
	}
	q.answered[q.stage]++
}

func (q *requests) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	sum := 0
	for n := range maps.Values(q.answered) {
		sum += n
	}
	return sum
}

// hasFailed reports whether any request has failed.
func (q *requests) hasFailed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.failed) > 0
}

// awaitMore waits until count more requests are answered, one has failed, or ctx ends.
func (q *requests) awaitMore(ctx context.Context, count int) error {
	for want := q.count() + count; q.count() < want && !q.hasFailed(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// want ends the client, and asserts that no request has failed and that some were answered while the files had two
// anchors, while the leaves were replaced, and afterwards. The controller passes some stages within one sync.
func (q *requests) want(t *testing.T) {
	t.Helper()
	q.stop()
	t.Logf("%d requests, each with new connections: %v, %d failed", q.count(), q.answered, len(q.failed))
	if len(q.failed) > 0 {
		t.Errorf("%d requests failed, such as:\n%s", len(q.failed), q.failed[0])
	}
	for _, stages := range [][]v1alpha1.Stage{
		{v1alpha1.StageDistributing}, {v1alpha1.StageReissuing, v1alpha1.StageDraining}, {v1alpha1.StageRetiring, v1alpha1.StageStable},
	} {
		sum := 0
		for _, stage := range stages {
			sum += q.answered[stage]
		}
		if sum < requestsOfEach {
			t.Errorf("%d requests were answered in the stages %v, want %d", sum, stages, requestsOfEach)
		}
	}
}
