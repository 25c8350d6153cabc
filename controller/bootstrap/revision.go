// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// first is the number of the revision that this package makes.
const first = 1

const reasonBootstrap = "it was rendered before there was an API server"

// Revision is the first revision of a rollout.
type Revision struct {
	Rollout *inventory.Rollout
	Content nodepod.Content
}

// cut makes revision 1 of a rollout from the objects of the API: its content, and the objects that store it.
func cut(api *API, namespace string, rollout *inventory.Rollout) (*Revision, error) {
	content, err := contentOf(api, namespace, rollout, asNamed)
	if err != nil {
		return nil, fmt.Errorf("rollout %s: %w", rollout.Config.Name, err)
	}
	out := &Revision{Rollout: rollout, Content: content}
	for _, node := range rollout.Nodes {
		if err := out.checkManifest(namespace, node); err != nil {
			return nil, fmt.Errorf("rollout %s: node %s: %w", rollout.Config.Name, node.Name, err)
		}
	}
	return out, out.copyAll(api, namespace)
}

// asNamed and ofFirst return the name of a source, and the name of its copy in the first revision.
func asNamed(name string) string { return name }

func ofFirst(name string) string { return nodepod.CopyName(name, first) }

// contentOf returns the content of the sources of a rollout, or of their copies. Each must consent to the
// configuration.
func contentOf(api *API, namespace string, rollout *inventory.Rollout, named func(string) string) (nodepod.Content, error) {
	config := rollout.Config
	out := nodepod.Content{
		ConfigMaps: map[string]map[string][]byte{}, Secrets: map[string]map[string][]byte{}, Reloaded: sets.New(config.ReloadedSecretNames...),
	}
	pod, err := get[*corev1.ConfigMap](api, namespace, named(config.PodConfigMapName))
	if err != nil {
		return out, fmt.Errorf("read the pod template, key %s of ConfigMap %s: %w", configv1alpha1.PodKey, config.PodConfigMapName, err)
	}
	out.ConfigMaps[config.PodConfigMapName] = valuesOf(pod)
	if missing := out.TakeTemplates(config.PodConfigMapName, configv1alpha1.PodKey, config.Companions); len(missing) > 0 {
		return out, fmt.Errorf("read the pod template: ConfigMap %s has no key %s", config.PodConfigMapName, strings.Join(missing, ", "))
	}
	errs := []error{consented(pod, rollout.Configuration)}
	for _, name := range config.ConfigMapNames {
		configMap, err := get[*corev1.ConfigMap](api, namespace, named(name))
		if err != nil {
			return out, err
		}
		errs = append(errs, consented(configMap, rollout.Configuration))
		out.ConfigMaps[name] = valuesOf(configMap)
	}
	for _, name := range config.SecretNames {
		secret, err := get[*corev1.Secret](api, namespace, named(name))
		if err != nil {
			return out, err
		}
		errs = append(errs, consented(secret, rollout.Configuration))
		out.Secrets[name] = secret.Data
	}
	return out, errors.Join(errs...)
}

// consented fails for an object without consent: a controller would never bring it to a node.
func consented(o object, configuration string) error {
	if trust.Consents(o.GetAnnotations(), configuration) {
		return nil
	}
	return fmt.Errorf("%s %s does not consent to RotationConfiguration %s: give it the annotation %s: %s",
		kindOf(o), o.GetName(), configuration, trust.AnnotationConfiguration, configuration)
}

// valuesOf merges data and binaryData of a ConfigMap. Their keys are distinct.
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

// copyAll adds the objects of the revision. It is ready at once, because all objects go to the same directory.
func (r *Revision) copyAll(api *API, namespace string) error {
	config := r.Rollout.Config
	copies := []object{r.status(namespace)}
	for _, name := range append(slices.Clone(config.ConfigMapNames), config.PodConfigMapName) {
		source, err := get[*corev1.ConfigMap](api, namespace, name)
		if err != nil {
			return err
		}
		if name == config.PodConfigMapName {
			source.Data, source.BinaryData = map[string]string{}, nil
			for key, template := range r.Content.Templates(configv1alpha1.PodKey) {
				source.Data[key] = string(template)
			}
		}
		copies = append(copies, &corev1.ConfigMap{
			ObjectMeta: r.copyMeta(namespace, name), Immutable: new(true), Data: source.Data, BinaryData: source.BinaryData,
		})
	}
	for _, name := range config.SecretNames {
		copies = append(copies, &corev1.Secret{
			ObjectMeta: r.copyMeta(namespace, name), Immutable: new(true), Type: corev1.SecretTypeOpaque, Data: r.Content.Secrets[name],
		})
	}
	return api.add(copies...)
}

// copyMeta sets no owner reference: the owner has no UID before a real API server creates it, and with a wrong one
// the garbage collector deletes the copy. The label names the owner instead.
func (r *Revision) copyMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: ofFirst(name), Labels: map[string]string{nodepod.LabelRollout: r.Rollout.Config.Name},
		Annotations: map[string]string{trust.AnnotationConfiguration: r.Rollout.Configuration},
	}
}

func (r *Revision) status(namespace string) *corev1.ConfigMap {
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Annotations: map[string]string{trust.AnnotationConfiguration: r.Rollout.Configuration},
	}}
	(&nodepod.Status{
		Number: first, Rollout: r.Rollout.Config.Name, Reason: reasonBootstrap,
		ContentHash: r.Content.ContentHash(), RestartHash: r.Content.RestartHash(), Ready: true,
	}).Put(out)
	return out
}

// companions are the class's permissions for the companions of the rollout.
func (r *Revision) companions() []configv1alpha1.PermittedCompanion {
	var out []configv1alpha1.PermittedCompanion
	for _, name := range r.Rollout.Config.Companions {
		out = append(out, *r.Rollout.Class.Companion(name))
	}
	return out
}

// checkManifest makes the manifests of a node, to find errors in the templates before anything is written.
func (r *Revision) checkManifest(namespace string, node *inventory.Node) error {
	if len(node.Addresses) == 0 {
		return errors.New("it has no InternalIP")
	}
	for _, name := range r.Rollout.Config.StaticPods() {
		template := r.Content.PodTemplate
		if name != r.Rollout.Config.Name {
			template = r.Content.Companions[name]
		}
		manifest, err := nodepod.RenderManifest(template, nodepod.Values{
			Revision: first, NodeName: node.Name, NodeIP: node.Addresses[0], RestartHash: r.Content.RestartHash(),
			Directory: path.Join(r.Rollout.Class.ResourceDirectory, nodepod.DirectoryName(r.Rollout.Config.Name, first)),
			Permitted: r.Rollout.Class.Permitted(name),
		})
		if err != nil {
			return err
		}
		pod, err := nodepod.ParsePod(manifest)
		if err != nil {
			return err
		}
		if pod.Name != name || pod.Namespace != namespace {
			return fmt.Errorf("the pod of the template is %s/%s, want %s/%s", pod.Namespace, pod.Name, namespace, name)
		}
	}
	return nil
}

// contentFor returns the content for a node: of the aggregate only the node's own leaves, and everything else whole.
func (r *Revision) contentFor(node *inventory.Node) nodepod.Content {
	out := r.Content
	out.Secrets = map[string]map[string][]byte{}
	var own []string
	for _, leaf := range r.Rollout.Leaves[node.Name] {
		cert, key := inventory.AggregateKeys(leaf)
		own = append(own, cert, key)
	}
	for name, values := range r.Content.Secrets {
		aggregate := r.Rollout.Aggregate != nil && name == r.Rollout.Aggregate.Secret.Name
		out.Secrets[name] = map[string][]byte{}
		for key, value := range values {
			if !aggregate || slices.Contains(own, key) {
				out.Secrets[name][key] = value
			}
		}
	}
	return out
}
