// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/controller/rotation"
	"certrotation.dev/registry/revision"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// first is the number of the revision that is made here.
const first = 1

// reasonBootstrap is why there is a revision 1.
const reasonBootstrap = "it was rendered before there was an API server"

// Revision is the first one of a rollout.
type Revision struct {
	Rollout *inventory.Rollout
	Content revision.Content
}

// cut makes revision 1 of a rollout from what the API holds: its content, and the objects that hold it in the API.
func cut(ctx context.Context, api *API, namespace string, rollout *inventory.Rollout) (*Revision, error) {
	out := &Revision{Rollout: rollout}
	sources, err := readSources(ctx, api, namespace, rollout.Configuration, rollout.Config)
	if err != nil {
		return nil, fmt.Errorf("rollout %s: %w", rollout.Config.Name, err)
	}
	out.Content = sources.content(rollout.Config)
	for _, node := range rollout.Nodes {
		if err := out.checkManifest(namespace, node); err != nil {
			return nil, fmt.Errorf("rollout %s: node %s: %w", rollout.Config.Name, node.Name, err)
		}
	}
	return out, sources.copyAll(ctx, api, namespace, out)
}

// sources are the objects that a revision freezes.
type sources struct {
	pod        *corev1.ConfigMap
	configMaps []*corev1.ConfigMap
	secrets    []*corev1.Secret
}

func readSources(ctx context.Context, api *API, namespace, configuration string, config *configv1alpha1.StaticPodRollout) (*sources, error) {
	out := &sources{}
	core := api.client.CoreV1()
	var err error
	if out.pod, err = core.ConfigMaps(namespace).Get(ctx, config.PodConfigMapName, metav1.GetOptions{}); err != nil {
		return nil, fmt.Errorf("read the pod template, key %s of ConfigMap %s: %w", configv1alpha1.PodKey, config.PodConfigMapName, err)
	}
	if out.pod.Data[configv1alpha1.PodKey] == "" {
		return nil, fmt.Errorf("read the pod template: ConfigMap %s has no key %s", config.PodConfigMapName, configv1alpha1.PodKey)
	}
	if err := consented("ConfigMap", out.pod, configuration); err != nil {
		return nil, err
	}
	for _, name := range config.ConfigMapNames {
		configMap, err := core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read ConfigMap %s: %w", name, err)
		}
		if err := consented("ConfigMap", configMap, configuration); err != nil {
			return nil, err
		}
		out.configMaps = append(out.configMaps, configMap)
	}
	for _, name := range config.SecretNames {
		secret, err := core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read Secret %s: %w", name, err)
		}
		if err := consented("Secret", secret, configuration); err != nil {
			return nil, err
		}
		out.secrets = append(out.secrets, secret)
	}
	return out, nil
}

// consented fails for an object that no controller would bring to a node later.
func consented(kind string, object metav1.Object, configuration string) error {
	if trust.Consents(object.GetAnnotations(), configuration) {
		return nil
	}
	return fmt.Errorf("%s %s does not consent to RotationConfiguration %s: give it the annotation %s: %s",
		kind, object.GetName(), configuration, trust.AnnotationConfiguration, configuration)
}

func (s *sources) content(config *configv1alpha1.StaticPodRollout) revision.Content {
	out := revision.Content{
		PodTemplate: []byte(s.pod.Data[configv1alpha1.PodKey]),
		ConfigMaps:  map[string]map[string][]byte{}, Secrets: map[string]map[string][]byte{},
		Reloaded: sets.New(config.ReloadedSecretNames...),
	}
	for _, configMap := range s.configMaps {
		out.ConfigMaps[configMap.Name] = valuesOf(configMap)
	}
	for _, secret := range s.secrets {
		out.Secrets[secret.Name] = maps.Clone(secret.Data)
	}
	return out
}

// valuesOf a ConfigMap are data and binaryData together, whose keys are distinct.
func valuesOf(configMap *corev1.ConfigMap) map[string][]byte {
	out := maps.Clone(configMap.BinaryData)
	if out == nil {
		out = map[string][]byte{}
	}
	for key, value := range configMap.Data {
		out[key] = []byte(value)
	}
	return out
}

// copyAll writes the objects of the revision in the order in which a crash would leave it not ready; it is ready at once,
// because they all go to the same directory.
func (s *sources) copyAll(ctx context.Context, api *API, namespace string, r *Revision) error {
	core := api.client.CoreV1()
	opts := metav1.CreateOptions{FieldManager: rotation.FieldManager}
	pod := &corev1.ConfigMap{ObjectMeta: s.pod.ObjectMeta, Data: map[string]string{configv1alpha1.PodKey: s.pod.Data[configv1alpha1.PodKey]}}
	for _, configMap := range append(slices.Clone(s.configMaps), pod) {
		frozen := &corev1.ConfigMap{
			ObjectMeta: frozenMeta(namespace, configMap.Name, r), Immutable: new(true), Data: configMap.Data, BinaryData: configMap.BinaryData,
		}
		if _, err := core.ConfigMaps(namespace).Create(ctx, frozen, opts); err != nil {
			return fmt.Errorf("create %s: %w", frozen.Name, err)
		}
	}
	for _, secret := range s.secrets {
		frozen := &corev1.Secret{
			ObjectMeta: frozenMeta(namespace, secret.Name, r), Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: secret.Data,
		}
		if _, err := core.Secrets(namespace).Create(ctx, frozen, opts); err != nil {
			return fmt.Errorf("create %s: %w", frozen.Name, err)
		}
	}
	status := r.status(namespace)
	if _, err := core.ConfigMaps(namespace).Create(ctx, status, opts); err != nil {
		return fmt.Errorf("create %s: %w", status.Name, err)
	}
	return nil
}

// frozenMeta has no owner reference: the UID of its owner is known only once an API server has made the owner, and a wrong
// one has the garbage collector delete the copy. The label says whose it is instead.
func frozenMeta(namespace, name string, r *Revision) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: revision.CopyName(name, first), Labels: map[string]string{revision.LabelRollout: r.Rollout.Config.Name},
		Annotations: map[string]string{trust.AnnotationConfiguration: r.Rollout.Configuration},
	}
}

func (r *Revision) status(namespace string) *corev1.ConfigMap {
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Annotations: map[string]string{trust.AnnotationConfiguration: r.Rollout.Configuration},
	}}
	(&revision.Status{
		Number: first, Rollout: r.Rollout.Config.Name, Reason: reasonBootstrap,
		ContentHash: r.Content.ContentHash(), RestartHash: r.Content.RestartHash(), Ready: true,
	}).Put(out)
	return out
}
