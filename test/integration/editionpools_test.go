// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/registry/edition"
	"certrotation.dev/registry/pki"
)

const (
	pool       = "editions-pool-a"
	workerNode = pool + "-0"
)

// poolsConfiguration is editionsConfiguration with the nodes of a pool as clients.
var poolsConfiguration = strings.NewReplacer(
	"name: clients", "name: pool-a",
	"pods: {selector: {matchLabels: {app: client}}}", "forEachNode: {matchLabels: {worker.gardener.cloud/pool: "+pool+"}}",
	"{kind: mounted, mounted: {trustVolume: files, trustKey: bundle.crt}}", "{kind: acknowledgement}",
).Replace(editionsConfiguration)

// TestEditionsOfPools: the nodes of a worker pool are relying parties by their label. The new leaf of the server is held
// until its node has acknowledged the new authority. A node of another pool is not asked.
func TestEditionsOfPools(t *testing.T) {
	t.Parallel()
	o := newHastyOperator(t, "editions-pools")
	for name, of := range map[string]string{workerNode: pool, "editions-pool-b-0": "editions-pool-b"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"worker.gardener.cloud/pool": of}}}
		if _, err := o.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	configure(t, o.own, o.namespace, poolsConfiguration)
	eventually(t, "the first authority is made", func(ctx context.Context) error {
		_, err := o.reconcile(ctx)
		return err
	})
	o.acknowledge(t)
	o.reaches(t, v1alpha1.StageStable, "")
	eventually(t, "a rotation begins", func(ctx context.Context) error { return o.ask(ctx, edition.OperationStart) })
	o.isIn(t, edition.Prepared)
	eventually(t, "it is completed", func(ctx context.Context) error { return o.ask(ctx, edition.OperationComplete) })
	o.reaches(t, v1alpha1.StageDistributing, "server TrustBeforeUse pool-a/"+workerNode)
	o.acknowledge(t)
	o.isIn(t, edition.Completed)
	o.acknowledge(t)
	o.reaches(t, v1alpha1.StageStable, "")
}

// acknowledge reports that the node has loaded the newest bundle.
func (o *hastyOperator) acknowledge(t *testing.T) {
	t.Helper()
	name := o.newest(t, "ca-bundle", edition.BundleKey)
	bundle, err := o.client.CoreV1().Secrets(o.namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	anchors, err := pki.ParseChain(bundle.Data[edition.BundleKey])
	if err != nil {
		t.Fatal(err)
	}
	trusts := []string{}
	for _, anchor := range anchors {
		trusts = append(trusts, string(anchor.Fingerprint))
	}
	eventually(t, "the node acknowledges", func(ctx context.Context) error {
		_, err := o.own.CertrotationV1alpha1().CertificateRotations(o.namespace).Acknowledge(ctx, "ca", &v1alpha1.Acknowledgement{
			Party: "pool-a", Member: workerNode, Instance: "kubelet", Trusts: trusts,
			StartedAt: metav1.NewMicroTime(time.Now().Add(-time.Minute)), ObservedAt: metav1.NowMicro(),
		}, metav1.CreateOptions{})
		return err
	})
}
