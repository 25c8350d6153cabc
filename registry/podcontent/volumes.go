// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

type source struct {
	kind     trust.ObjectKind
	name     string
	items    []corev1.KeyToPath
	optional bool
}

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

// Secrets returns the sorted names of the Secrets that the volumes of a pod show.
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

func (s *source) mayShow(key string) bool {
	return len(s.items) == 0 || slices.ContainsFunc(s.items, func(item corev1.KeyToPath) bool { return item.Key == key })
}

// Reference is an object from which a pod reads one key.
type Reference struct {
	Kind trust.ObjectKind
	Name string
	Key  string
	// Leaf means that the key has a leaf. Otherwise it has anchors.
	Leaf bool
	// Object is the object as it is now, nil if there is none. The caller that asks for a proof reads it.
	Object *Object
}

func (r *Reference) object() string { return string(r.Kind) + "/" + r.Name }

// References returns the objects that a pod has its anchors (if it is asked for any) and its leaves from, in the
// order of asked. The fault says why the pod proves nothing as it is written, "" if it can prove something.
func (a *MountRequirement) References(pod *corev1.Pod) (references []Reference, fault string) {
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

// staysMounted reports whether a container that runs alongside the others mounts a volume. Init containers that end
// first do not count.
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
