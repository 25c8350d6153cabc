// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/view/inventory"
)

const (
	namespace = "demo"
	// remembered is by how many states a cache may lag, and how many old versions of an object a backup has.
	remembered = 6
)

var (
	secretResource    = schema.GroupResource{Resource: "secrets"}
	configMapResource = schema.GroupResource{Resource: "configmaps"}
	podResource       = schema.GroupResource{Resource: "pods"}
	recordResource    = configv1alpha1.SchemeGroupVersion.WithResource("rotationrecords").GroupResource()
)

// server is the API server: objects with resource versions and conflicts. Stored objects are never modified.
type server struct {
	version       int
	secrets       map[string]*corev1.Secret
	configMaps    map[string]*corev1.ConfigMap
	records       map[string]*configv1alpha1.RotationRecord
	configuration *configv1alpha1.RotationConfiguration
	nodes         map[string]*inventory.Node
	// refuses has the errors of refused writes by leaders, by Kind/name.
	refuses map[string]error
	// states are the states after each change, the latest last.
	states []*inventory.Sources
	// backup has former versions of Secrets and ConfigMaps by name, the latest last.
	backup map[string][]any
	certs  *pki.Cache
}

func newServer() *server {
	return &server{
		version: 100, secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{},
		records: map[string]*configv1alpha1.RotationRecord{}, refuses: map[string]error{},
		nodes: map[string]*inventory.Node{}, states: []*inventory.Sources{{Namespace: namespace}},
		backup: map[string][]any{}, certs: pki.NewCache(512),
	}
}

// clone shares what is never modified.
func (s *server) clone() *server {
	out := *s
	out.secrets, out.configMaps, out.nodes = maps.Clone(s.secrets), maps.Clone(s.configMaps), maps.Clone(s.nodes)
	out.records, out.refuses = maps.Clone(s.records), maps.Clone(s.refuses)
	out.states = append([]*inventory.Sources(nil), s.states...)
	out.backup = map[string][]any{}
	return &out
}

// latest is the present state.
func (s *server) latest() *inventory.Sources { return s.states[len(s.states)-1] }

// became records a change.
func (s *server) became(next *inventory.Sources) {
	s.states = append(s.states, next)
	if len(s.states) > remembered {
		s.states = s.states[len(s.states)-remembered:]
	}
}

// withSecret is Sources.WithSecret with the cache of this server. A nil Secret is deleted.
func (s *server) withSecret(from *inventory.Sources, name string, secret *corev1.Secret) *inventory.Sources {
	out := *from
	out.Secrets, out.Others = maps.Clone(from.Secrets), maps.Clone(from.Others)
	if out.Secrets == nil {
		out.Secrets, out.Others = map[string]*inventory.Secret{}, map[string]*inventory.OtherSecret{}
	}
	delete(out.Secrets, name)
	delete(out.Others, name)
	switch {
	case secret == nil:
	case secret.Type == corev1.SecretTypeTLS:
		out.Secrets[name] = inventory.ParseSecret(secret, s.certs)
	default:
		out.Others[name] = inventory.ParseOtherSecret(secret, s.certs)
	}
	return &out
}

// withConfigMap is withSecret for a ConfigMap.
func (s *server) withConfigMap(from *inventory.Sources, name string, cm *corev1.ConfigMap) *inventory.Sources {
	out := *from
	out.ConfigMaps = maps.Clone(from.ConfigMaps)
	if out.ConfigMaps == nil {
		out.ConfigMaps = map[string]*inventory.ConfigMap{}
	}
	delete(out.ConfigMaps, name)
	if cm != nil {
		out.ConfigMaps[name] = inventory.ParseConfigMap(cm, s.certs)
	}
	return &out
}

// stamp sets the metadata that a server sets.
func (s *server) stamp(meta *metav1.ObjectMeta, now time.Time) {
	s.version++
	meta.Namespace = namespace
	meta.ResourceVersion = strconv.Itoa(s.version)
	if meta.UID == "" {
		meta.UID = types.UID("uid-" + meta.ResourceVersion)
		meta.CreationTimestamp = metav1.NewTime(now)
	}
}

func (s *server) createSecret(secret *corev1.Secret, now time.Time) (*corev1.Secret, error) {
	if s.secrets[secret.Name] != nil {
		return nil, apierrors.NewAlreadyExists(secretResource, secret.Name)
	}
	return s.putSecret(secret, now), nil
}

func (s *server) updateSecret(secret *corev1.Secret, now time.Time) (*corev1.Secret, error) {
	live := s.secrets[secret.Name]
	if live == nil {
		return nil, apierrors.NewNotFound(secretResource, secret.Name)
	}
	if live.ResourceVersion != secret.ResourceVersion {
		return nil, changed(secretResource, secret.Name, live.ResourceVersion, secret.ResourceVersion)
	}
	return s.putSecret(secret, now), nil
}

// putSecret stores a Secret without a precondition.
func (s *server) putSecret(secret *corev1.Secret, now time.Time) *corev1.Secret {
	stored := *secret
	s.stamp(&stored.ObjectMeta, now)
	if old := s.secrets[stored.Name]; old != nil {
		s.keep(stored.Name, old)
	}
	s.secrets[stored.Name] = &stored
	s.became(s.withSecret(s.latest(), stored.Name, &stored))
	return &stored
}

func (s *server) deleteSecret(name string) {
	s.keep(name, s.secrets[name])
	delete(s.secrets, name)
	s.version++
	s.became(s.withSecret(s.latest(), name, nil))
}

func (s *server) createConfigMap(cm *corev1.ConfigMap, now time.Time) (*corev1.ConfigMap, error) {
	if s.configMaps[cm.Name] != nil {
		return nil, apierrors.NewAlreadyExists(configMapResource, cm.Name)
	}
	return s.putConfigMap(cm, now), nil
}

func (s *server) updateConfigMap(cm *corev1.ConfigMap, now time.Time) (*corev1.ConfigMap, error) {
	live := s.configMaps[cm.Name]
	if live == nil {
		return nil, apierrors.NewNotFound(configMapResource, cm.Name)
	}
	if live.ResourceVersion != cm.ResourceVersion {
		return nil, changed(configMapResource, cm.Name, live.ResourceVersion, cm.ResourceVersion)
	}
	return s.putConfigMap(cm, now), nil
}

func (s *server) putConfigMap(cm *corev1.ConfigMap, now time.Time) *corev1.ConfigMap {
	stored := *cm
	s.stamp(&stored.ObjectMeta, now)
	if old := s.configMaps[stored.Name]; old != nil {
		s.keep(stored.Name, old)
	}
	s.configMaps[stored.Name] = &stored
	s.became(s.withConfigMap(s.latest(), stored.Name, &stored))
	return &stored
}

func (s *server) deleteConfigMap(name string) {
	s.keep(name, s.configMaps[name])
	delete(s.configMaps, name)
	s.version++
	s.became(s.withConfigMap(s.latest(), name, nil))
}

func (s *server) keep(name string, old any) {
	list := append(s.backup[name], old)
	s.backup[name] = list[max(0, len(list)-remembered):]
}

// putNode stores a node, nil to delete it.
func (s *server) putNode(name string, node *inventory.Node) {
	s.version++
	next := *s.latest()
	next.Nodes = maps.Clone(next.Nodes)
	if next.Nodes == nil {
		next.Nodes = map[string]*inventory.Node{}
	}
	delete(next.Nodes, name)
	if node != nil {
		next.Nodes[name] = node
	}
	s.nodes = next.Nodes
	s.became(&next)
}

func changed(resource schema.GroupResource, name, have, want string) error {
	return apierrors.NewConflict(resource, name, fmt.Errorf("it is %s, not %s", have, want))
}
