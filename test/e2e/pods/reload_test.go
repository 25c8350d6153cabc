// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/trust"
	"certrotation.dev/test/cluster/workernodes"
)

var repetitions = flag.Int("repetitions", 2, "how often a replica does not reload")

// TestReplicaThatDoesNotReload: one replica behind a Service does not reload, in turn of the server and of a
// client. The rotation holds, and names only this pod.
func TestReplicaThatDoesNotReload(t *testing.T) {
	s := besideScenarios(t)
	for i := range *repetitions {
		workload := []string{"server", "client-a"}[i%2]
		t.Run(fmt.Sprintf("%s %d", workload, i), func(t *testing.T) {
			traffic := s.measure(t)
			ready, err := s.ready(t.Context(), workload)
			if err != nil {
				t.Fatal(err)
			}
			pod := &ready[i%len(ready)]
			control(t, pod, "hold")
			// Resume the pod for the other tests even if this one fails.
			resumed := false
			defer func() {
				if !resumed {
					control(t, pod, "resume")
				}
			}()
			before := s.rotate(t)
			until(t, "the rotation waits for the pod alone", func(ctx context.Context) error { return s.waitsFor(ctx, workload, pod.Name) })
			s.holds(t, workload, pod.Name, before)
			control(t, pod, "resume")
			resumed = true
			s.rotated(t, before)
			traffic.end(t)
		})
	}
}

// waitsFor returns nil if exactly one member does not trust the next CA, and the blockers name no other member.
func (s *system) waitsFor(ctx context.Context, party, member string) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	// The server's leaf is reissued as soon as the clients trust the next CA, even if the server does not.
	if stage := row.Status.Stage; stage != v1alpha1.StageDistributing && stage != v1alpha1.StageReissuing {
		return fmt.Errorf("the stage is %s", stage)
	}
	for _, m := range row.Status.Members {
		if is := m.Party == party && m.Member == member; m.Trusted == is {
			return fmt.Errorf("member %s of %s trusts: %t (%s)", m.Member, m.Party, m.Trusted, m.Message)
		}
	}
	if !slices.ContainsFunc(row.Status.Blockers, func(b v1alpha1.Blocker) bool { return b.Party == party && b.Member == member }) {
		return fmt.Errorf("it is not named: %s", blockers(row))
	}
	if i := slices.IndexFunc(row.Status.Blockers, func(b v1alpha1.Blocker) bool { return b.Member != "" && b.Member != member }); i >= 0 {
		return fmt.Errorf("%s is named too", row.Status.Blockers[i].Member)
	}
	return nil
}

// holds makes the controller reconcile the rotation again. The controller only restores the deleted annotation of
// the signer.
func (s *system) holds(t *testing.T, party, member, before string) {
	t.Helper()
	secrets := s.Client.CoreV1().Secrets(s.namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, trust.AnnotationRefreshPeriod)
	if _, err := secrets.Patch(t.Context(), s.signer, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the controller has looked again", func(ctx context.Context) error {
		secret, err := secrets.Get(ctx, s.signer, metav1.GetOptions{})
		if err == nil && secret.Annotations[trust.AnnotationRefreshPeriod] == "" {
			err = errors.New("the annotation is not there again")
		}
		return err
	})
	if err := s.waitsFor(t.Context(), party, member); err != nil {
		t.Fatalf("the rotation does not hold: %v", err)
	}
	row, err := s.row(t.Context())
	if err == nil && row.Status.Certificate.Fingerprint != before {
		err = errors.New("another signer is active")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("it holds: %s", blockers(row))
}

// control posts hold or resume to the program in a pod, which then stops or resumes reloading.
func control(t *testing.T, pod *corev1.Pod, what string) {
	t.Helper()
	tell(t, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(workernodes.StatsPort)), what)
}

// tell posts hold or resume to a program of the sample at the address of its counters.
func tell(t *testing.T, address, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/"+what, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		t.Fatalf("tell %s to %s: %v", address, what, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("tell %s to %s: %s", address, what, response.Status)
	}
}
