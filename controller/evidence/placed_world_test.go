// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

const (
	nodeName = "a"
	nodeUID  = types.UID("uid-a")
	podUID   = types.UID("uid-pod")
	leafA    = "etcd-peer-a"
	// process is the instance of the pod's process.
	process = "uid-pod/2026-05-01T12:00:00Z"
)

var started = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// etcdNamespace has one domain with one static pod on one node.
func etcdNamespace(cas ...*pki.Pair) *inventory.Namespace {
	d := &trust.Domain{
		Namespace: testNamespace, Name: "etcd",
		Signer: trust.Signer{Object: trust.Object{Name: "etcd-signer", Present: true}, Active: cas[0].Certificate},
		Bundle: trust.Bundle{Object: trust.Object{Name: "etcd-ca-bundle", Present: true}},
		Leaves: []trust.Leaf{{Object: trust.Object{Name: leafA, Present: true}}},
		Parties: []trust.Party{{
			Name: "etcd", Kind: trust.StaticPodRevision, Verifies: []string{leafA},
			Members: []trust.Member{{Name: nodeName, Holds: []string{leafA}}},
		}},
	}
	return &inventory.Namespace{
		Name: testNamespace, Domains: []*trust.Domain{d},
		Rollouts: []*inventory.Rollout{{
			Config: &configv1alpha1.StaticPodRollout{
				Name: "etcd", PodConfigMapName: "etcd-pod", ConfigMapNames: []string{"etcd-all-bundles"},
				SecretNames: []string{"etcd-all-certs"}, ReloadedSecretNames: []string{"etcd-all-certs"},
			},
			Aggregate: &trust.Aggregate{
				Secret: trust.Object{Name: "etcd-all-certs"}, ConfigMap: trust.Object{Name: "etcd-all-bundles"},
				Bundles: []trust.AggregatedBundle{{Key: "other.crt", Bundle: "other"}, {Key: "server-ca-bundle.crt", Bundle: "etcd-ca-bundle"}},
			},
			Nodes: []*inventory.Node{{ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: nodeUID}}},
		}},
	}
}

// frozen is a revision of the test.
type frozen struct {
	number  int
	leaf    *pki.Pair
	anchors []*pki.Pair
}

func (f frozen) content(t *testing.T) nodepod.Content {
	t.Helper()
	key, err := f.leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	var bundle []byte
	for _, ca := range f.anchors {
		bundle = append(bundle, ca.Certificate.PEM()...)
	}
	return nodepod.Content{
		PodTemplate: []byte("kind: Pod\n"),
		ConfigMaps:  map[string]map[string][]byte{"etcd-all-bundles": {"server-ca-bundle.crt": bundle}},
		Secrets:     map[string]map[string][]byte{"etcd-all-certs": {leafA + ".crt": f.leaf.CertPEM(), leafA + ".key": key}},
		Reloaded:    sets.New("etcd-all-certs"),
	}
}

// objects returns the record of a revision and its copies. It is recorded as installed on the node with the UIDs.
func (f frozen) objects(t *testing.T, installed ...types.UID) []runtime.Object {
	t.Helper()
	c := f.content(t)
	status := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: nodepod.StatusName(f.number), Labels: map[string]string{nodepod.LabelRollout: "etcd"},
			Annotations: map[string]string{nodepod.AnnotationReady: "true"},
		},
		Data: map[string]string{nodepod.StatusKeyContentHash: c.ContentHash(), nodepod.StatusKeyRestartHash: c.RestartHash()},
	}
	for _, uid := range installed {
		status.Annotations[nodepod.InstalledAnnotation(nodeName)] = string(uid)
	}
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: testNamespace, Name: nodepod.CopyName(name, f.number)}
	}
	return []runtime.Object{
		status,
		&corev1.ConfigMap{ObjectMeta: named("etcd-pod"), Data: map[string]string{configv1alpha1.PodKey: string(c.PodTemplate)}},
		&corev1.ConfigMap{ObjectMeta: named("etcd-all-bundles"), BinaryData: c.ConfigMaps["etcd-all-bundles"]},
		&corev1.Secret{ObjectMeta: named("etcd-all-certs"), Data: c.Secrets["etcd-all-certs"]},
	}
}

// pod returns the mirror pod of a revision.
func (f frozen) pod(t *testing.T) *corev1.Pod {
	t.Helper()
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: testNamespace, Name: "etcd-" + nodeName, UID: podUID,
			Annotations: map[string]string{
				corev1.MirrorPodAnnotationKey: "mirror",
				nodepod.AnnotationRestartHash: f.content(t).RestartHash(), nodepod.AnnotationRevision: strconv.Itoa(f.number),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: nodeName, UID: nodeUID}},
		},
		Spec: corev1.PodSpec{NodeName: nodeName},
		Status: corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{
				running("readyz", started.Add(-time.Hour)), running("etcd", started),
			},
		},
	}
}

func running(container string, since time.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}},
	}
}

// nodeAddress is the address of theNode.
const nodeAddress = "10.0.0.1"

func theNode(uid types.UID) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, UID: uid},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}}},
	}
}

// placedRecord returns the recorded observation of the static pod without its times, nil without a record.
func placedRecord(t *testing.T, records *apifake.Server) *trust.Observation {
	t.Helper()
	list := recordOf(t, records, "etcd", "etcd", nodeName)
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 {
		t.Fatalf("%d processes, want 1", len(list))
	}
	list[0].ObservedAt, list[0].Expires = time.Time{}, time.Time{}
	return &list[0]
}

func prints(pairs ...*pki.Pair) []pki.Fingerprint {
	found := map[pki.Fingerprint]bool{}
	for _, p := range pairs {
		found[p.Certificate.Fingerprint] = true
	}
	return slices.Sorted(maps.Keys(found))
}
