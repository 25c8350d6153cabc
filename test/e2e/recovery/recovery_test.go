// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/test/cluster/nodes"
)

// TestExpiredWhileOff recovers a cluster that was off until every certificate of its etcd, signers included, had
// expired.
func TestExpiredWhileOff(t *testing.T) {
	s := startSystem(t)
	until(t, "the cluster is Stable", s.stable)
	s.remember(t)
	was := s.signer(t)
	if err := s.powerOff(); err != nil {
		t.Fatal(err)
	}
	s.waitForTheEnd(t)

	if err := s.powerOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.expiredFormNoQuorum(t)
	for _, node := range s.Nodes() {
		s.recover(t, node)
	}
	for _, node := range s.Nodes() {
		if err := node.StartKubelet(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The output of any node serves all clients, because only the leaves differ between nodes.
	recovered, err := materialIn(s.Nodes()[0].Path(output))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range s.Nodes() {
		until(t, "etcd serves on "+node.Name(), func(ctx context.Context) error { return recovered.read(ctx, node) })
	}

	s.startAPIServers(t, &recovered)
	s.controllerKeepsTheKey(t, was)
	s.apply(t)
	until(t, "everybody trusts and presents what was recovered", s.settled)
	if now := s.signer(t); now.PublicKeyHash != was.PublicKeyHash {
		t.Error("the signer has another key: it was not recovered but replaced")
	}
	s.rotate(t)
	s.isWhole(t, &recovered)
}

// stable returns nil if no rotation of etcd is in flight.
func (s *system) stable(ctx context.Context) error {
	for _, name := range []string{etcdSigner, metricSigner} {
		row, err := s.row(ctx, name)
		if err != nil {
			return err
		}
		if row.Status.Stage != v1alpha1.StageStable {
			return fmt.Errorf("%s is in the stage %s with the blockers %+v", name, row.Status.Stage, row.Status.Blockers)
		}
	}
	return nil
}

// remember writes data to etcd and to the API that must exist after the recovery.
func (s *system) remember(t *testing.T) {
	t.Helper()
	client, err := s.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(t.Context(), keyOfData, "kept"); err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"kept": "yes"}}
	if _, err := s.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (s *system) signer(t *testing.T) *pki.Certificate {
	t.Helper()
	secret, err := s.Client.CoreV1().Secrets(namespace).Get(t.Context(), etcdSigner, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := pki.ParsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate
}

// waitForTheEnd waits until every certificate of etcd on every disk has expired.
func (s *system) waitForTheEnd(t *testing.T) {
	t.Helper()
	var last time.Time
	for _, node := range s.Nodes() {
		end, err := lastEnd(node)
		if err != nil {
			t.Fatal(err)
		}
		if end.After(last) {
			last = end
		}
	}
	if wait := time.Until(last); wait > 2*validity {
		t.Fatalf("the certificates live for another %s", wait)
	}
	t.Logf("every machine is off; the last certificate expires in %s", time.Until(last).Round(time.Second))
	timer := time.NewTimer(time.Until(last.Add(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
}

// expiredFormNoQuorum asserts that the members cannot form a quorum, and that doctor reports why.
func (s *system) expiredFormNoQuorum(t *testing.T) {
	t.Helper()
	expired, err := materialIn(filepath.Join(s.dir, "rendered", "tls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range s.Nodes() {
		until(t, "etcd has started on "+node.Name(), func(ctx context.Context) error { return listens(ctx, node) })
		until(t, "etcd on "+node.Name()+" refuses its peers", func(context.Context) error {
			text, err := node.ContainerLogs("etcd-"+node.Name(), "etcd")
			if err == nil && !strings.Contains(text, "certificate has expired") {
				err = errors.New("its log says nothing about an expired certificate")
			}
			return err
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if err := expired.read(ctx, s.Nodes()[0]); err == nil {
		t.Fatal("members whose certificates have expired serve a read; there is nothing to recover")
	}
	for _, node := range s.Nodes() {
		if err := s.installProgram(node); err != nil {
			t.Fatal(err)
		}
		code, report := certrotation(t, node, "doctor", "--peers="+strings.Join(s.peersOf(node), ","))
		if code != 1 {
			t.Errorf("doctor on %s exits with %d, want 1", node.Name(), code)
		}
		for _, want := range []string{"AuthorityExpired", "Expired", "NoQuorum", "etcd-peer-" + node.Name(), "etcd-serving-" + node.Name(), "server-ca-bundle.crt"} {
			if !strings.Contains(report, want) {
				t.Errorf("doctor on %s does not name %s", node.Name(), want)
			}
		}
		if node == s.Nodes()[0] || t.Failed() {
			t.Logf("doctor on %s:\n%s", node.Name(), report)
		}
	}
	code, refusal := certrotation(t, s.Nodes()[0], "recover", "--dry-run")
	if code != 1 || !strings.Contains(refusal, "etcd is running") || !strings.Contains(refusal, "stop kubelet") {
		t.Errorf("recover beside a running etcd exits with %d: %s", code, refusal)
	}
}

func (s *system) peersOf(node *nodes.Node) []string {
	var out []string
	for _, peer := range s.Nodes() {
		if peer != node {
			out = append(out, peer.Name()+"=https://"+net.JoinHostPort(peer.IP().String(), "2380"))
		}
	}
	return out
}

// recover recovers one node, without information about the other nodes.
func (s *system) recover(t *testing.T, node *nodes.Node) {
	t.Helper()
	if err := stopPod(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	until(t, "etcd has ended on "+node.Name(), func(ctx context.Context) error {
		if listens(ctx, node) == nil {
			return errors.New("it listens")
		}
		return nil
	})
	before := snapshot(t, node)
	code, plan := certrotation(t, node, "recover", "--dry-run")
	if code != 0 || !strings.Contains(plan, "re-sign the CA") || !strings.Contains(plan, "Nothing was written") {
		t.Fatalf("recover --dry-run on %s exits with %d: %s", node.Name(), code, plan)
	}
	if diff := cmp.Diff(before, snapshot(t, node)); diff != "" {
		t.Errorf("recover --dry-run has changed the disk of %s (-before +after):\n%s", node.Name(), diff)
	}
	code, done := certrotation(t, node, "recover")
	if code != 0 || !strings.Contains(done, "Done.") {
		t.Fatalf("recover on %s exits with %d: %s", node.Name(), code, done)
	}
	if node == s.Nodes()[0] {
		t.Logf("recover on %s:\n%s", node.Name(), done)
	}
	after := snapshot(t, node)
	kept := map[string]int{}
	for _, content := range after {
		kept[content]++
	}
	for path, content := range before {
		if strings.HasPrefix(content, "-") && kept[content] == 0 {
			t.Errorf("recover on %s has destroyed %s", node.Name(), path)
		}
	}
}

// startAPIServers starts the kube-apiservers with the recovered client leaf, and the programs that only need them.
func (s *system) startAPIServers(t *testing.T, recovered *material) {
	t.Helper()
	if err := recovered.writeTo(filepath.Join(s.dir, "rendered", "tls")); err != nil {
		t.Fatal(err)
	}
	if err := s.Supervisor.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the API serves", func(ctx context.Context) error {
		_, err := s.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
	if err := errors.Join(s.controllers().Start(), s.Serve.Start()); err != nil {
		t.Fatal(err)
	}
	until(t, "what was written is still there", func(ctx context.Context) error {
		kept, err := s.Client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kept", metav1.GetOptions{})
		if err == nil && kept.Data["kept"] != "yes" {
			err = fmt.Errorf("it is %v", kept.Data)
		}
		return err
	})
}

// controllerKeepsTheKey starts the controller too early: the API has only the expired signer, while the members
// depend on its key. The controller must not replace it, and must say why.
func (s *system) controllerKeepsTheKey(t *testing.T, was *pki.Certificate) {
	t.Helper()
	s.keepController(t)
	until(t, "the controller says that the signers wait for a person", func(ctx context.Context) error {
		for _, name := range []string{etcdSigner, metricSigner} {
			row, err := s.row(ctx, name)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(row.Status.Blockers, func(b v1alpha1.Blocker) bool { return strings.Contains(b.Message, "certrotation recover") }) {
				return fmt.Errorf("%s is in the stage %s, its blockers are %+v", name, row.Status.Stage, row.Status.Blockers)
			}
		}
		return nil
	})
	if now := s.signer(t); now.Fingerprint != was.Fingerprint {
		t.Fatal("the controller has replaced the key that the members rely on")
	}
}

// apply applies the output of every node as recover says, and extends the validity of the certificates. Recovered
// leaves are renewed as early as by default. Recovered signers are not: the test rotates one itself.
func (s *system) apply(t *testing.T) {
	t.Helper()
	for _, node := range s.Nodes() {
		until(t, "the manifests of "+node.Name()+" are applied", func(ctx context.Context) error {
			_, err := s.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--field-manager=certrotation-recover", "-f", node.Path(output+"/manifests"))
			return err
		})
	}
	until(t, "the configuration has other validities", func(ctx context.Context) error {
		configs := s.rot.ConfigV1alpha1().RotationConfigurations(namespace)
		config, err := configs.Get(ctx, "etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, policy := range policies(&config.Spec) {
			policy.Validity = &metav1.Duration{Duration: 48 * time.Hour}
		}
		for i := range config.Spec.TrustDomains {
			for k := range config.Spec.TrustDomains[i].Leaves {
				config.Spec.TrustDomains[i].Leaves[k].Policy.RenewAtPercent = configv1alpha1.DefaultRenewAtPercent
			}
		}
		_, err = configs.Update(ctx, config, metav1.UpdateOptions{})
		return err
	})
	if err := s.Scraper.Start(); err != nil {
		t.Fatal(err)
	}
}

func (s *system) rotate(t *testing.T) {
	t.Helper()
	before := s.signer(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Binary("kubectl-certrotation"), "rotate", "-n", namespace, etcdSigner, "--wait", "--timeout="+patience.String())
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Installation.Cluster.Kubeconfig())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rotate %s: %v: %s", etcdSigner, err, out)
	}
	t.Logf("an ordinary rotation:\n%s", out)
	if after := s.signer(t); after.PublicKeyHash == before.PublicKeyHash {
		t.Error("the signer was not rotated")
	}
	until(t, "the cluster is healthy", s.settled)
}

// isWhole asserts that the cluster has recovered: etcd serves the data by the new CA alone, and doctor reports no
// fault.
func (s *system) isWhole(t *testing.T, recovered *material) {
	t.Helper()
	client, err := s.Etcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	got, err := client.Get(ctx, keyOfData)
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "kept" {
		t.Errorf("read what was written: %v, %v", got, err)
	}
	if err := recovered.read(ctx, s.Nodes()[0]); err == nil {
		t.Error("the CA that was re-signed is still accepted after the rotation")
	}
	for _, node := range s.Nodes() {
		if code, report := certrotation(t, node, "doctor", "--peers="+strings.Join(s.peersOf(node), ",")); code != 0 {
			t.Errorf("doctor on %s exits with %d:\n%s", node.Name(), code, report)
		}
	}
}
