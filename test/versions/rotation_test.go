// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/generated/informers/externalversions"
	"certrotation.dev/test/cluster/installation"
)

// testRotation rotates the CA of the sample with kubectl's plugin, while an informer watches and the sample's clients
// connect.
func (s *system) testRotation(t *testing.T) {
	before, start := s.row(t), s.traffic(t)
	stages := s.watch(t)
	t.Log(s.kubectl(t, "certrotation", "rotate", "-n", installation.MTLSNamespace, signer, "--wait"))
	after := s.row(t)
	if after.Status.Stage != v1alpha1.StageStable || after.Status.Certificate.Fingerprint == before.Status.Certificate.Fingerprint {
		t.Errorf("the stage is %s, and the CA %s, before %s", after.Status.Stage, after.Status.Certificate.Fingerprint, before.Status.Certificate.Fingerprint)
	}
	if table := s.kubectl(t, "get", "certificaterotations", "-A"); !strings.Contains(table, signer) || !strings.Contains(table, "STAGE") {
		t.Errorf("kubectl get certificaterotations -A prints\n%s", table)
	}
	until(t, "the clients have connected since", func(context.Context) error {
		if s.traffic(t).Handshakes < start.Handshakes+20 {
			return errors.New("they have not")
		}
		return nil
	})
	if now := s.traffic(t); now.Failures != start.Failures {
		t.Errorf("%d handshakes failed: %v", now.Failures-start.Failures, now.Reasons)
	}
	s.wantStages(t, stages)
}

func (s *system) row(t *testing.T) *v1alpha1.CertificateRotation {
	t.Helper()
	row, err := s.rot.CertrotationV1alpha1().CertificateRotations(installation.MTLSNamespace).Get(t.Context(), signer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if row.Status.Certificate == nil {
		t.Fatalf("the signer has no certificate: %v", row.Status)
	}
	return row
}

func (s *system) traffic(t *testing.T) counters {
	t.Helper()
	c, err := s.counters(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// watch runs a client-go informer of the rows, and sends each new stage of the signer.
func (s *system) watch(t *testing.T) <-chan v1alpha1.Stage {
	t.Helper()
	// A rotation has five stages. The buffer keeps the informer from waiting for the test.
	stages := make(chan v1alpha1.Stage, 100)
	factory := externalversions.NewSharedInformerFactoryWithOptions(s.rot, 0, externalversions.WithNamespace(installation.MTLSNamespace))
	informer := factory.Certrotation().V1alpha1().CertificateRotations().Informer()
	last := v1alpha1.Stage("")
	note := func(object any) {
		if row, ok := object.(*v1alpha1.CertificateRotation); ok && row.Name == signer && row.Status.Stage != last {
			last = row.Status.Stage
			stages <- last
		}
	}
	handles, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, object any) { note(object) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(within(t).Done(), handles.HasSynced) {
		t.Fatal("the informer does not come to know the rows")
	}
	return stages
}

// wantStages reads the stages that the informer has seen, from stable to stable.
func (s *system) wantStages(t *testing.T, stages <-chan v1alpha1.Stage) {
	t.Helper()
	ctx := within(t)
	var seen []v1alpha1.Stage
	for len(seen) < 2 || seen[len(seen)-1] != v1alpha1.StageStable {
		select {
		case stage := <-stages:
			seen = append(seen, stage)
		case <-ctx.Done():
			t.Fatalf("the watch has shown the stages %v", seen)
		}
	}
	for _, stage := range []v1alpha1.Stage{v1alpha1.StageDistributing, v1alpha1.StageReissuing, v1alpha1.StageDraining} {
		if !slices.Contains(seen, stage) {
			t.Errorf("the watch has shown the stages %v, and not %s", seen, stage)
		}
	}
}
