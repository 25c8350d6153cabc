// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/test/cluster"
)

// TestRestoredFromBackup restores etcd during a rotation: from a backup before it, and from a backup of an earlier
// stage. Since the backup no anchor was removed that a process has loaded, so no handshake may fail.
// docs/operations.md covers the other case.
func TestRestoredFromBackup(t *testing.T) {
	s := theSystem(t)
	for _, story := range []struct {
		name string
		// midst means that the backup is made during the rotation, not before.
		midst bool
	}{
		{name: "of before the rotation"},
		{name: "of the midst of the rotation", midst: true},
	} {
		t.Run(story.name, func(t *testing.T) {
			until(t, "the sample is as it was", s.settled)
			traffic, held := s.measure(t), s.holdOfEach(t, "server", "client-a")
			backup := filepath.Join(t.TempDir(), "snapshot.db")
			if !story.midst {
				s.backUp(t, backup)
			}
			before := s.rotate(t)
			until(t, "both programs are waited for", func(ctx context.Context) error { return s.distributes(ctx, held) })
			if story.midst {
				s.backUp(t, backup)
				held.resume(t, "server")
				until(t, "leaves of clients are of the next CA", func(ctx context.Context) error { return s.moved(ctx, "service-client-b") })
			}
			s.restore(t, backup)
			held.resumeAll(t)
			if !story.midst {
				until(t, "the rotation never was, whichever replica is asked", func(ctx context.Context) error {
					for range 10 {
						if err := s.isAtRest(ctx); err != nil {
							return err
						}
					}
					return nil
				})
				if row, err := s.row(t.Context()); err != nil || row.Status.Certificate.Fingerprint != before {
					t.Fatalf("the CA is not the one of the backup: %v", err)
				}
				before = s.rotate(t)
			}
			s.rotated(t, before)
			traffic.end(t)
		})
	}
}

// held are pods whose programs do not reload.
type held map[string]*corev1.Pod

// holdOfEach holds one pod of each workload.
func (s *system) holdOfEach(t *testing.T, workloads ...string) held {
	t.Helper()
	h := held{}
	t.Cleanup(func() { h.resumeAll(t) })
	for _, workload := range workloads {
		ready, err := s.ready(t.Context(), workload)
		if err != nil {
			t.Fatal(err)
		}
		control(t, &ready[0], "hold")
		h[workload] = &ready[0]
	}
	return h
}

func (h held) resume(t *testing.T, workload string) {
	t.Helper()
	if pod := h[workload]; pod != nil {
		delete(h, workload)
		control(t, pod, "resume")
	}
}

func (h held) resumeAll(t *testing.T) {
	t.Helper()
	for workload := range h {
		h.resume(t, workload)
	}
}

// distributes returns nil if the next CA is published and exactly the held pods do not trust it.
func (s *system) distributes(ctx context.Context, h held) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	if row.Status.Stage != v1alpha1.StageDistributing {
		return fmt.Errorf("the stage is %s", row.Status.Stage)
	}
	for _, m := range row.Status.Members {
		pod := h[m.Party]
		if is := pod != nil && pod.Name == m.Member; m.Trusted == is {
			return fmt.Errorf("member %s of %s trusts: %t (%s)", m.Member, m.Party, m.Trusted, m.Message)
		}
	}
	return nil
}

// moved returns nil if a leaf is signed by the next CA.
func (s *system) moved(ctx context.Context, leaf string) error {
	rows := s.rot.CertrotationV1alpha1().CertificateRotations(s.namespace)
	row, err := rows.Get(ctx, leaf, metav1.GetOptions{})
	if err != nil {
		return err
	}
	of, err := s.row(ctx)
	if err != nil {
		return err
	}
	if row.Status.Certificate == nil || row.Status.Certificate.SignedBy == of.Status.Certificate.Fingerprint {
		return errors.New(leaf + " is signed by the active CA")
	}
	return nil
}

func (s *system) isAtRest(ctx context.Context) error {
	row, err := s.row(ctx)
	if err != nil {
		return err
	}
	if row.Status.Stage != v1alpha1.StageStable || len(row.Status.Blockers) > 0 {
		return fmt.Errorf("the stage is %s, blockers: %s", row.Status.Stage, blockers(row))
	}
	return nil
}

// backUp saves a snapshot of etcd, as etcdctl does.
func (s *system) backUp(t *testing.T, to string) {
	t.Helper()
	etcd, err := s.Installation.Cluster.EtcdClient()
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	snapshot, err := etcd.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(file, snapshot)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// restore restarts etcd from a snapshot and makes all clients list anew, as docs/operations.md says.
func (s *system) restore(t *testing.T, from string) {
	t.Helper()
	plane := s.Installation.Cluster
	for _, name := range []string{cluster.APIServer, cluster.Etcd} {
		if err := plane.Process(name).Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(plane.Dir(), "etcd")
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	args := append(restoring(t), "--data-dir="+data, from)
	if out, err := exec.CommandContext(t.Context(), plane.Tool("etcdutl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("etcdutl %v: %v\n%s", args, err, out)
	}
	s.startPlane(t, cluster.Etcd, cluster.APIServer)
}

// restoring returns the arguments of the restore command in docs/operations.md.
func restoring(t *testing.T) []string {
	t.Helper()
	root, err := cluster.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(read(t, filepath.Join(root, "docs", "operations.md"))), "`etcdutl ")
	command, _, found := strings.Cut(after, "`")
	if !found || !strings.HasPrefix(command, "snapshot restore ") {
		t.Fatalf("docs/operations.md says to restore by %q", command)
	}
	return strings.Fields(command)
}

// startPlane starts processes of the control plane, and returns when kube-apiserver is ready.
func (s *system) startPlane(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := s.Installation.Cluster.Process(name).Start(); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "kube-apiserver is ready", func(ctx context.Context) error {
		_, err := s.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}
