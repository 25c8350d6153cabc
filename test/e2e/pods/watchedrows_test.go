// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/clientset/versioned"
	"certrotation.dev/generated/informers/externalversions"
)

// watchers is the number of watches, each with a connection of its own.
const watchers = 200

// watchedRows are the stores that the watches maintain.
type watchedRows struct {
	s         *system
	stop      context.CancelFunc
	stores    []cache.Store
	factories []externalversions.SharedInformerFactory

	mu       sync.Mutex
	events   int
	wentBack []string
}

// watchRows watches the CertificateRotations of the sample with client-go's informers.
func (s *system) watchRows(t *testing.T) *watchedRows {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	w := &watchedRows{s: s, stop: stop}
	var begun []cache.InformerSynced
	for n := range watchers {
		config := s.Installation.Cluster.AdminConfig()
		config.Dial = (&net.Dialer{}).DialContext // Clients with a dialer of their own share no connection.
		client, err := versioned.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		factory := externalversions.NewSharedInformerFactoryWithOptions(client, 0, externalversions.WithNamespace(namespace))
		informer := factory.Certrotation().V1alpha1().CertificateRotations().Informer()
		seen := &progress{former: map[string]bool{}}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, row any) { w.updated(n, seen, row) }}); err != nil {
			t.Fatal(err)
		}
		factory.Start(ctx.Done())
		begun = append(begun, informer.HasSynced)
		w.stores, w.factories = append(w.stores, informer.GetStore()), append(w.factories, factory)
	}
	// The wait looks every 100 ms: for one watch after the other, that would be most of its time.
	if !cache.WaitForCacheSync(ctx.Done(), begun...) {
		t.Fatal("a watch does not begin")
	}
	return w
}

// stages of one active CA, in order. The CA becomes active during a rotation, and is replaced during the next one.
var stages = []v1alpha1.Stage{
	v1alpha1.StageReissuing, v1alpha1.StageDraining, v1alpha1.StageRetiring, v1alpha1.StageStable, v1alpha1.StageDistributing, v1alpha1.StageReissuing,
}

// progress is how far a watch has seen the signer advance. Resource versions do not show that, because each
// replica has its own.
type progress struct {
	active string
	former map[string]bool
	at     int
}

// next advances to the stage of a row. It reports whether the row is not older than the rows before.
func (p *progress) next(row *v1alpha1.CertificateRotation) bool {
	if row.Status.Certificate == nil {
		return true
	}
	active := row.Status.Certificate.Fingerprint
	if p.former[active] {
		return false
	}
	if active != p.active {
		p.former[p.active], p.active, p.at = true, active, 0
	}
	for at := p.at; at < len(stages); at++ {
		if stages[at] == row.Status.Stage {
			p.at = at
			return true
		}
	}
	return false
}

// updated detects a signer that goes back, when a replica of serve shows an older state than another one did.
func (w *watchedRows) updated(watch int, seen *progress, row any) {
	is, ok := row.(*v1alpha1.CertificateRotation)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	if ok && is.Name == signer && !seen.next(is) {
		w.wentBack = append(w.wentBack, fmt.Sprintf("watch %d: from %s to %s", watch, stages[seen.at], is.Status.Stage))
	}
}

// end waits until each watch has the same rows as a list.
func (w *watchedRows) end(t *testing.T) {
	t.Helper()
	until(t, "every watch has what a list says", func(ctx context.Context) error {
		list, err := w.s.rot.CertrotationV1alpha1().CertificateRotations(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i, store := range w.stores {
			if n := len(store.List()); n != len(list.Items) {
				return fmt.Errorf("watch %d has %d rows, want %d", i, n, len(list.Items))
			}
			for k := range list.Items {
				row := &list.Items[k]
				known, found, err := store.GetByKey(namespace + "/" + row.Name)
				if err != nil || !found {
					return fmt.Errorf("watch %d: %s is not there, %w", i, row.Name, err)
				}
				if is, ok := known.(*v1alpha1.CertificateRotation); !ok || !equality.Semantic.DeepEqual(timeless(is), timeless(row)) {
					return fmt.Errorf("watch %d: %s is not as it is listed", i, row.Name)
				}
			}
		}
		return nil
	})
	w.stop()
	for _, factory := range w.factories {
		factory.Shutdown()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Logf("%d watches, %d updates, stages that went back: %d", len(w.stores), w.events, len(w.wentBack))
	for _, one := range w.wentBack[:min(len(w.wentBack), 3)] {
		t.Error(one)
	}
	if w.events < watchers {
		t.Errorf("%d watches have seen %d updates", watchers, w.events)
	}
}

// timeless returns a status without the times of changes. A replica that did not see a change shows a time that
// the content permits (docs/operations.md).
func timeless(row *v1alpha1.CertificateRotation) *v1alpha1.CertificateRotationStatus {
	status := row.Status.DeepCopy()
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	for i := range status.Members {
		status.Members[i].LastChange = nil
	}
	return status
}
