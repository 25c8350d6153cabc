// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"certrotation.dev/apis/config/load"
	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
)

const (
	// companion is a second static pod of each member: a server that reads its trust at its start, like
	// kube-apiserver.
	companion     = "etcd-front"
	companionPort = "9978"
	// companionFile is the name of its manifest on the nodes.
	companionFile     = "front.yaml"
	companionTemplate = `apiVersion: v1
kind: Pod
metadata: {name: etcd-front, namespace: openshift-etcd}
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  priority: 2000001000
  terminationGracePeriodSeconds: 5
  tolerations: [{operator: Exists}]
  containers:
  - name: etcd-front
    image: certrotation.dev/etcd:local
    imagePullPolicy: Never
    command:
    - /etcd-metrics-proxy
    - --listen=NODE_IP:9978
    - --upstream=http://127.0.0.1:2381
    - --cert-file=/etc/kubernetes/static-pod-resources/current/secrets/etcd-all-certs/etcd-serving-NODE_NAME.crt
    - --key-file=/etc/kubernetes/static-pod-resources/current/secrets/etcd-all-certs/etcd-serving-NODE_NAME.key
    - --trusted-ca-file=/etc/kubernetes/static-pod-resources/current/configmaps/etcd-all-bundles/server-ca-bundle.crt
    readinessProbe: {tcpSocket: {host: NODE_IP, port: 9978}, periodSeconds: 1}
    volumeMounts: [{name: resources, mountPath: /etc/kubernetes/static-pod-resources, readOnly: true}]
  volumes:
  - name: resources
    hostPath: {path: /etc/kubernetes/static-pod-resources/etcd-pod-REVISION, type: Directory}
`
	// foreignManifest replaces the companion's manifest as another tool would. It mounts no revision.
	foreignManifest = `apiVersion: v1
kind: Pod
metadata: {name: etcd-front, namespace: openshift-etcd}
spec:
  hostNetwork: true
  containers:
  - {name: etcd-front, image: certrotation.dev/etcd:local, imagePullPolicy: Never, command: [/etcd, --data-dir=/tmp/x, --listen-client-urls=http://127.0.0.1:9977,
      --advertise-client-urls=http://127.0.0.1:9977, --listen-peer-urls=http://127.0.0.1:9976]}
`
)

// TestTwoStaticPodsOfOneRevision adds a companion to the members and rotates the signer under both. Then it
// overwrites the manifest of the companion on one node, as an upgrade by kubeadm does.
func TestTwoStaticPodsOfOneRevision(t *testing.T) {
	s := theSystem(t)
	before := s.fingerprints(t)
	c := s.begin(t)
	was := s.accompany(t)
	until(t.Context(), t, "each node runs both", s.accompanied)
	stop := s.watchTurns(t.Context(), t)
	s.rotate(t.Context(), t, etcdSigner)
	s.rotated(t, etcdSigner, before[etcdSigner])
	until(t.Context(), t, "each node runs both after the rotation", s.accompanied)
	stop()

	runs := s.companionContainers(t)
	s.renewLeaf(t, "etcd-serving-master-0")
	until(t.Context(), t, "each node runs both with another leaf", s.accompanied)
	for node, container := range s.companionContainers(t) {
		if container != runs[node] {
			t.Errorf("the companion of %s restarted for a leaf", node)
		}
	}

	node := s.Network.Node(disturbed)
	if err := os.WriteFile(filepath.Join(node.Path("/etc/kubernetes/manifests"), companionFile), []byte(foreignManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t.Context(), t, "the rollout names the node whose companion is not ours", func(ctx context.Context) error {
		return s.blockedFor(ctx, disturbed, rollout.ReasonRolledBack)
	})
	s.renewLeaf(t, "etcd-serving-master-0")
	until(t.Context(), t, "the next revision has put it right", s.accompanied)
	s.unaccompany(t, was)
	// One restart adds the companion, two are for the rotation, one removes it. The repaired node has one more.
	c.end(t, expectation{restarts: 5})
}

// accompany permits the companion, adds its template, and makes the configuration use it. It returns the former
// configuration.
func (s *system) accompany(t *testing.T) (was *asked) {
	t.Helper()
	s.change(t, func(class *configv1alpha1.StaticPodClassSpec, templates map[string]string, spec *configv1alpha1.RotationConfigurationSpec) error {
		if was == nil { // A retry after a conflict keeps the state of the first attempt.
			was = &asked{class: *class.DeepCopy(), configuration: *spec.DeepCopy()}
		}
		class.Companions = []configv1alpha1.PermittedCompanion{{PodName: companion, ManifestFile: companionFile, Pod: configv1alpha1.PermittedPod{
			Images: class.Pod.Images, HostNetwork: true, PriorityClassNames: class.Pod.PriorityClassNames,
		}}}
		templates[configv1alpha1.CompanionKey(companion)] = companionTemplate
		expanded, err := load.Spec(spec, namespace)
		if err != nil {
			return err
		}
		expanded.Rollout.StaticPod.Companions = []string{companion}
		// A probe of what it presents is its evidence, as for the listeners of etcd.
		etcd := &expanded.TrustDomains[0]
		for _, party := range etcd.RelyingParties {
			if party.Name != "etcd-serving" {
				continue
			}
			front := *party.DeepCopy()
			front.Name = companion
			front.Evidence.TLSProbe.Endpoints[0].Address = "{node}:" + companionPort
			etcd.RelyingParties = append(etcd.RelyingParties, front)
		}
		*spec = *expanded
		return nil
	})
	return was
}

// unaccompany restores the former configuration. It deletes the manifests itself, because the rollout does not
// remove static pods that the configuration no longer names.
func (s *system) unaccompany(t *testing.T, was *asked) {
	t.Helper()
	s.change(t, func(class *configv1alpha1.StaticPodClassSpec, templates map[string]string, spec *configv1alpha1.RotationConfigurationSpec) error {
		was.class.DeepCopyInto(class)
		delete(templates, configv1alpha1.CompanionKey(companion))
		was.configuration.DeepCopyInto(spec)
		return nil
	})
	for _, node := range s.Nodes() {
		if err := os.Remove(filepath.Join(node.Path("/etc/kubernetes/manifests"), companionFile)); err != nil {
			t.Error(err)
		}
	}
}

// asked is the class and the configuration before the test.
type asked struct {
	class         configv1alpha1.StaticPodClassSpec
	configuration configv1alpha1.RotationConfigurationSpec
}

// change edits class, templates and configuration. It writes the class first, so that the configuration uses only
// what is permitted.
func (s *system) change(
	t *testing.T, edit func(class *configv1alpha1.StaticPodClassSpec, templates map[string]string, spec *configv1alpha1.RotationConfigurationSpec) error,
) {
	t.Helper()
	ctx, config := t.Context(), s.rot.ConfigV1alpha1()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		class, err := config.StaticPodClasses().Get(ctx, "etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		templates, err := s.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "etcd-pod", metav1.GetOptions{})
		if err != nil {
			return err
		}
		configuration, err := config.RotationConfigurations(namespace).Get(ctx, "etcd", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := edit(&class.Spec, templates.Data, &configuration.Spec); err != nil {
			return err
		}
		if _, err := config.StaticPodClasses().Update(ctx, class, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if _, err := s.Client.CoreV1().ConfigMaps(namespace).Update(ctx, templates, metav1.UpdateOptions{}); err != nil {
			return err
		}
		_, err = config.RotationConfigurations(namespace).Update(ctx, configuration, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Fatalf("change the configuration: %v", err)
	}
}

// accompanied returns nil if both static pods of each node are Ready with one restart hash and the rollout is at
// rest. The companion must accept the CAs of the bundle.
func (s *system) accompanied(ctx context.Context) error {
	pods, err := s.staticPods(ctx)
	if err != nil {
		return err
	}
	status, err := s.rolloutStatus(ctx)
	if err != nil {
		return err
	}
	if len(status.Blockers) > 0 {
		return fmt.Errorf("the rollout waits: %+v", status.Blockers)
	}
	for i := range status.Nodes {
		if n := &status.Nodes[i]; n.PendingSince != nil || n.CurrentRevision != status.LatestAvailableRevision {
			return fmt.Errorf("%s is at revision %d of %d", n.Name, n.CurrentRevision, status.LatestAvailableRevision)
		}
	}
	for _, node := range s.Nodes() {
		if of := pods[node.Name()]; of.mixed() {
			return fmt.Errorf("%s runs etcd with %.8q and %s with %.8q", node.Name(), of.etcd, companion, of.companion)
		}
		accepts, _, err := s.handshake(ctx, net.JoinHostPort(node.IP().String(), companionPort), "etcd-client", "etcd-ca-bundle")
		if err != nil {
			return fmt.Errorf("%s of %s: %w", companion, node.Name(), err)
		}
		anchors, err := s.objects.anchors("etcd-ca-bundle")
		if err != nil {
			return err
		}
		var subjects [][]byte
		for _, anchor := range anchors {
			subjects = append(subjects, anchor.RawSubject)
		}
		if !cmp.Equal(accepts, subjects, cmpopts.SortSlices(func(x, y []byte) bool { return bytes.Compare(x, y) < 0 })) {
			return fmt.Errorf("%s of %s accepts the CAs %q, the bundle has %q", companion, node.Name(), accepts, subjects)
		}
	}
	return nil
}

// hashes are the restart hashes of the static pods of a node, "" if a pod does not exist.
type hashes struct{ etcd, companion string }

func (h hashes) mixed() bool { return h.etcd == "" || h.etcd != h.companion }

func (s *system) staticPods(ctx context.Context) (map[string]hashes, error) {
	list, err := s.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string]hashes{}
	for i := range list.Items {
		pod := &list.Items[i]
		of := out[pod.Spec.NodeName]
		switch pod.Name {
		case "etcd-" + pod.Spec.NodeName:
			of.etcd = pod.Annotations[nodepod.AnnotationRestartHash]
		case companion + "-" + pod.Spec.NodeName:
			of.companion = pod.Annotations[nodepod.AnnotationRestartHash]
		}
		out[pod.Spec.NodeName] = of
	}
	return out, nil
}

// watchTurns fails the test if two nodes run static pods of mixed revisions at the same moment.
func (s *system) watchTurns(ctx context.Context, t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		seen := 0
		for {
			select {
			case <-ctx.Done():
				t.Logf("looks at a node in the midst of its turn: %d", seen)
				return
			case <-tick.C:
			}
			pods, err := s.staticPods(ctx)
			if err != nil {
				continue // An API server restarts with its etcd.
			}
			var midst []string
			for _, node := range s.Nodes() {
				if pods[node.Name()].mixed() {
					midst = append(midst, node.Name())
				}
			}
			seen += len(midst)
			if len(midst) > 1 {
				t.Errorf("%s are in the midst of their turns at once", strings.Join(midst, ", "))
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (s *system) rolloutStatus(ctx context.Context) (*rollout.Status, error) {
	cm, err := s.Client.CoreV1().ConfigMaps(namespace).Get(ctx, rollout.StatusName("etcd"), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return rollout.ReadStatus(cm, "etcd")
}

func (s *system) blockedFor(ctx context.Context, node string, reason rollout.Reason) error {
	status, err := s.rolloutStatus(ctx)
	if err != nil {
		return err
	}
	for i := range status.Blockers {
		if b := &status.Blockers[i]; b.Node == node && b.Reason == reason && strings.Contains(b.Message, companion) {
			return nil
		}
	}
	return fmt.Errorf("the blockers are %+v", status.Blockers)
}

func (s *system) companionContainers(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, node := range s.Nodes() {
		running, err := node.RunningContainer(t.Context(), companion+"-"+node.Name(), companion)
		if err != nil {
			t.Fatal(err)
		}
		out[node.Name()] = running.ID
	}
	return out
}

func (s *system) renewLeaf(t *testing.T, leaf string) {
	t.Helper()
	before := s.fingerprints(t)[leaf]
	s.rotate(t.Context(), t, leaf)
	until(t.Context(), t, leaf+" is another one in a revision", func(ctx context.Context) error {
		if s.fingerprints(t)[leaf] == before {
			return errors.New("it is the old one")
		}
		secret, err := s.Client.CoreV1().Secrets(namespace).Get(ctx, leaf, metav1.GetOptions{})
		if err != nil {
			return err
		}
		status, err := s.rolloutStatus(ctx)
		if err != nil {
			return err
		}
		copied, err := s.Client.CoreV1().Secrets(namespace).Get(ctx, nodepod.CopyName("etcd-all-certs", status.LatestAvailableRevision), metav1.GetOptions{})
		if err == nil && string(copied.Data[leaf+".crt"]) != string(secret.Data[corev1.TLSCertKey]) {
			err = errors.New("the latest revision has the old one")
		}
		return err
	})
}
