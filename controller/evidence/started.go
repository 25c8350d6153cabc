// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/podcontent"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// startText describes what a pod says it starts with, the current contents, and where it has its files.
func (s *subject) startText() string {
	hashes := []string{s.d.Bundle.ContentHash}
	for _, name := range s.member.Holds {
		if l := s.d.Leaf(name); l != nil {
			hashes = append(hashes, l.ContentHash)
		}
	}
	return fmt.Sprint(s.member.Content, hashes, s.relying.StartAssumed, s.relying.Mounts, len(s.member.Observations) > 0)
}

var startedObserver = observer{kind: trust.WorkloadRollout, has: hasPod, observe: (*Collector).lookStarted}

// lookStarted observes a pod that reads its files only at start: the only process of the member. It fails only if the
// API server cannot be asked.
func (c *Collector) lookStarted(ctx context.Context, s *subject) ([]trust.Observation, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o, err := c.startedWith(reading, s)
	if err != nil {
		return nil, err
	}
	now := c.now()
	o.Kind, o.ObservedAt, o.Expires = s.relying.Kind, now, now.Add(lease)
	return []trust.Observation{*o}, nil
}

// startedWith returns what the containers of a pod started with. It reads the pod before the contents.
func (c *Collector) startedWith(ctx context.Context, s *subject) (*trust.Observation, error) {
	pod, process, err := c.runningPod(ctx, s)
	if err != nil {
		return nil, err
	}
	if process == "" {
		return s.runsNothing(), nil
	}
	before := s.sameProcess(process)
	asked := &podcontent.StartRequirement{Leaves: s.member.Holds, Assumed: s.relying.StartAssumed}
	if !s.relying.VerifiesNothing {
		asked.Bundle = s.d.Bundle.Name
	}
	o := &trust.Observation{Instance: process, Failure: asked.Fault(pod)}
	if before != nil {
		o.Trusts, o.Presents = before.Trusts, before.Presents
	}
	if o.Failure != "" || asked.Known(before) {
		return o, nil
	}
	now, err := c.contents(ctx, s, asked)
	if err != nil {
		return nil, err
	}
	proof := asked.Prove(pod, now, before)
	o.Trusts, o.Presents, o.Failure = proof.Trusts, proof.Presents, proof.Failure
	return o, nil
}

// runningPod reads the member's pod and names its process. The process is empty if none runs or the pod was replaced.
func (c *Collector) runningPod(ctx context.Context, s *subject) (pod *corev1.Pod, process string, err error) {
	pod, err = c.client.CoreV1().Pods(s.namespace).Get(ctx, s.target.member, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", nil
	case err != nil:
		return nil, "", fmt.Errorf("read pod %s/%s: %w", s.namespace, s.target.member, err)
	case string(pod.UID) != s.member.Instance:
		return nil, "", nil
	}
	return pod, inventory.ParsePod(pod).Life.Process, nil
}

// runsNothing is the observation of a pod whose known containers have ended.
func (s *subject) runsNothing() *trust.Observation {
	return &trust.Observation{Instance: s.member.Pod.Process, Failure: "the API server knows of no container that runs in it now"}
}

// sameProcess returns the recorded observation of a process, of any age: what the process read at start stays true.
func (s *subject) sameProcess(process string) *trust.Observation {
	for i := range s.member.Observations {
		if o := &s.member.Observations[i]; o.Instance == process && o.Kind == s.relying.Kind {
			return o
		}
	}
	return nil
}

// contents reads the current contents. Keys come with the leaves, because hashes cover everything. Callers must not
// keep them after the observation.
func (c *Collector) contents(ctx context.Context, s *subject, asked *podcontent.StartRequirement) (*podcontent.Contents, error) {
	out, certs := &podcontent.Contents{}, pki.NewCache(1)
	if asked.Bundle != "" {
		configMap, err := c.client.CoreV1().ConfigMaps(s.namespace).Get(ctx, asked.Bundle, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read the bundle %s/%s: %w", s.namespace, asked.Bundle, err)
		}
		if err == nil && trust.Consents(configMap.Annotations, s.d.Configuration) {
			out.Bundle = bundleContent(inventory.ParseConfigMap(configMap, certs))
		}
	}
	for _, name := range asked.Leaves {
		secret, err := c.client.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read the leaf %s/%s: %w", s.namespace, name, err)
		}
		leaf := podcontent.Content{}
		if err == nil && secret.Type == corev1.SecretTypeTLS && trust.Consents(secret.Annotations, s.d.Configuration) {
			leaf = leafContent(inventory.ParseSecret(secret, certs))
		}
		out.Leaves = append(out.Leaves, leaf)
	}
	return out, nil
}

func bundleContent(facts *inventory.ConfigMap) podcontent.Content {
	out := podcontent.Content{Hash: facts.ContentHash}
	if facts.Bundle == nil || facts.Bundle.Fault != nil {
		return podcontent.Content{}
	}
	out.Keystore = facts.Bundle.Keystore
	out.Shows = fingerprints(facts.Bundle.Anchors.Certificates)
	return out
}

func fingerprints(of []*pki.Certificate) []pki.Fingerprint {
	out := make([]pki.Fingerprint, 0, len(of))
	for _, c := range of {
		out = append(out, c.Fingerprint)
	}
	return out
}

func leafContent(facts *inventory.Secret) podcontent.Content {
	if facts.Active.Fault != nil || facts.Active.Empty() {
		return podcontent.Content{}
	}
	return podcontent.Content{
		Hash: facts.ContentHash, Superseded: facts.Superseded, Keystore: facts.Keystore(), Shows: []pki.Fingerprint{facts.Active.Certificates[0].Fingerprint},
		Beside: fingerprints(facts.Authorities.Certificates),
	}
}
