// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package mounted

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// source is a Secret or ConfigMap that a volume shows.
type source struct {
	kind     trust.ObjectKind
	name     string
	items    []corev1.KeyToPath
	optional bool
}

// sourcesOf are the Secrets and ConfigMaps that a volume shows.
func sourcesOf(v *corev1.Volume) []source {
	isTrue := func(b *bool) bool { return b != nil && *b }
	switch {
	case v.ConfigMap != nil:
		return []source{{trust.ConfigMapKind, v.ConfigMap.Name, v.ConfigMap.Items, isTrue(v.ConfigMap.Optional)}}
	case v.Secret != nil:
		return []source{{trust.SecretKind, v.Secret.SecretName, v.Secret.Items, isTrue(v.Secret.Optional)}}
	case v.Projected == nil:
		return nil
	}
	var out []source
	for i := range v.Projected.Sources {
		switch p := &v.Projected.Sources[i]; {
		case p.ConfigMap != nil:
			out = append(out, source{trust.ConfigMapKind, p.ConfigMap.Name, p.ConfigMap.Items, isTrue(p.ConfigMap.Optional)})
		case p.Secret != nil:
			out = append(out, source{trust.SecretKind, p.Secret.Name, p.Secret.Items, isTrue(p.Secret.Optional)})
		}
	}
	return out
}

// Secrets are the names of those that the volumes of a pod show, ordered.
func Secrets(spec *corev1.PodSpec) []string {
	var out []string
	for i := range spec.Volumes {
		for _, s := range sourcesOf(&spec.Volumes[i]) {
			if s.kind == trust.SecretKind {
				out = append(out, s.name)
			}
		}
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

// mayShow says whether a key of the object would be shown.
func (s *source) mayShow(key string) bool {
	return len(s.items) == 0 || slices.ContainsFunc(s.items, func(item corev1.KeyToPath) bool { return item.Key == key })
}

// Reference is an object of which a pod reads one key.
type Reference struct {
	Kind trust.ObjectKind
	Name string
	Key  string
	// Leaf says that the key has a leaf, and no anchors.
	Leaf bool
	// Object is what there is now, nil for nothing. Whoever asks for a proof reads it.
	Object *Object
}

// object as Kind/name.
func (r *Reference) object() string { return string(r.Kind) + "/" + r.Name }

// References are the objects that a pod has its anchors from, if it is asked for any, and its leaves, in the order of asked. The
// fault says why the pod proves nothing as it is written, "" if it can prove something.
func (a *Asked) References(pod *corev1.Pod) (references []Reference, fault string) {
	for _, volume := range a.volumes() {
		reference, fault := find(pod, volume.name, volume.key)
		if fault != "" {
			return nil, fault
		}
		if volume.leaf && reference.Kind != trust.SecretKind {
			return nil, fmt.Sprintf("its volume %s shows %s, and a leaf is in a Secret: put leafVolumes of the party right", volume.name, reference.object())
		}
		reference.Leaf = volume.leaf
		references = append(references, *reference)
	}
	return references, ""
}

// find is the object of which a volume shows a key.
func find(pod *corev1.Pod, name, key string) (*Reference, string) {
	at := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if at < 0 {
		return nil, fmt.Sprintf("it has no volume %s: put the volume names of the party right, or the template of the pod", name)
	}
	all := sourcesOf(&pod.Spec.Volumes[at])
	shown := slices.DeleteFunc(slices.Clone(all), func(s source) bool { return !s.mayShow(key) })
	switch {
	case len(all) == 0:
		return nil, fmt.Sprintf("its volume %s shows no Secret and no ConfigMap: name the volume that does", name)
	case len(shown) == 0:
		return nil, fmt.Sprintf("its volume %s shows some keys only, and %s is none of them: have it show that, or name another volume", name, key)
	case len(shown) > 1:
		return nil, fmt.Sprintf("its volume %s may show the key %s of %d objects: give all but one of its sources items without that key", name, key, len(shown))
	case !staysMounted(pod, name):
		return nil, fmt.Sprintf("none of its containers mounts the volume %s: name the one that its program reads", name)
	}
	reference := &Reference{Kind: shown[0].kind, Name: shown[0].name, Key: key}
	if shown[0].optional {
		return nil, fmt.Sprintf("its volume %s is optional for %s, so it may have started without that: take optional out of the template", name, reference.object())
	}
	return reference, ""
}

// staysMounted says whether a container that runs with the others, and does not end before they begin, mounts a volume.
func staysMounted(pod *corev1.Pod, volume string) bool {
	mounts := func(c *corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume })
	}
	for i := range pod.Spec.Containers {
		if mounts(&pod.Spec.Containers[i]) {
			return true
		}
	}
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways && mounts(&c)
	})
}
