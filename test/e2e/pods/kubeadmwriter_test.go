// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"certrotation.dev/test/cluster/nodes"
)

// longestPause is how long no write may be acknowledged: an election follows a restart of etcd's leader.
const longestPause = 20 * time.Second

// clientOf returns an administrator's client of the kube-apiserver on a node.
func (k *kubeadmPlane) clientOf(node *nodes.Node) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", node.Path(kubeadmAdmin))
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS, config.Burst = 3*time.Second, -1, -1
	return kubernetes.NewForConfig(config)
}

// planeWriter writes ConfigMaps through the kube-apiservers in turn. It uses another one if one does not answer,
// because they restart with their members of etcd.
type planeWriter struct {
	clients      []*kubernetes.Clientset
	stop         context.CancelFunc
	running      sync.WaitGroup
	acknowledged []string
	unanswered   int
	longest      time.Duration
}

func (k *kubeadmPlane) write(t *testing.T) *planeWriter {
	t.Helper()
	w := &planeWriter{}
	for _, node := range k.nodes {
		client, err := k.clientOf(node)
		if err != nil {
			t.Fatal(err)
		}
		w.clients = append(w.clients, client)
	}
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	t.Cleanup(stop)
	w.running.Go(func() { w.run(ctx) })
	return w
}

func (w *planeWriter) run(ctx context.Context) {
	last := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		name := fmt.Sprintf("written-%d", i)
		if w.writeOne(ctx, i, name) {
			w.acknowledged = append(w.acknowledged, name)
			w.longest, last = max(w.longest, time.Since(last)), time.Now()
		}
	}
}

// writeOne reports whether a write was acknowledged. A write without an acknowledgement may have happened.
func (w *planeWriter) writeOne(ctx context.Context, i int, name string) bool {
	for n := range w.clients {
		written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := w.clients[(i+n)%len(w.clients)].CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, written, metav1.CreateOptions{})
		switch {
		case err == nil, apierrors.IsAlreadyExists(err):
			return true
		case ctx.Err() != nil:
			return false
		}
		w.unanswered++
	}
	return false
}

// end reads back the acknowledged writes.
func (w *planeWriter) end(t *testing.T) {
	t.Helper()
	w.stop()
	w.running.Wait()
	list, err := w.clients[0].CoreV1().ConfigMaps(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].Name] = true
	}
	lost := 0
	for _, name := range w.acknowledged {
		if !there[name] {
			lost++
		}
	}
	t.Logf("written through three kube-apiservers: %d acknowledged, lost: %d; %d tries went to one that restarted; longest pause %s",
		len(w.acknowledged), lost, w.unanswered, w.longest.Round(time.Millisecond))
	if lost > 0 || len(w.acknowledged) < 100 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, len(w.acknowledged))
	}
	if w.longest > longestPause {
		t.Errorf("no write was acknowledged for %s, want at most %s", w.longest, longestPause)
	}
}
