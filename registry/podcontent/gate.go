// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package podcontent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"certrotation.dev/registry/trust"
)

// gate is an init container that ends when a volume shows a content.
type gate struct {
	// at is its index among the init containers.
	at int
	// volume that the gate mounts as a whole, "" if it looks elsewhere.
	volume, hash string
}

// gatesOf returns the start gates of a pod, in their run order.
func gatesOf(pod *corev1.Pod) []gate {
	var out []gate
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		arguments := waitArguments(c)
		if sidecar(c) || arguments == nil {
			continue
		}
		hash, directory := parse(arguments)
		out = append(out, gate{at: i, volume: mountedAt(c, directory), hash: resolve(hash, c, pod)})
	}
	return out
}

// sidecar reports whether an init container runs beside the others and does not end before them.
func sidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// waitArguments returns the arguments of `certrotation wait`, nil if the container runs something else. Without a
// command the unknown entrypoint of the image begins the line.
func waitArguments(c *corev1.Container) []string {
	line := slices.Concat(c.Command, c.Args)
	switch {
	case len(c.Command) == 0 && len(line) > 0 && line[0] == "wait":
		return line[1:]
	case len(line) > 1 && path.Base(line[0]) == "certrotation" && line[1] == "wait":
		return line[2:]
	}
	return nil
}

// parse finds the hash and the directory among the arguments. The directory is the only absolute path.
func parse(arguments []string) (hash, directory string) {
	for i, argument := range arguments {
		flag, value, joined := strings.Cut(argument, "=")
		switch {
		case flag == "--for-content" && joined:
			hash = value
		case flag == "--for-content" && i+1 < len(arguments):
			hash = arguments[i+1]
		case path.IsAbs(argument):
			directory = path.Clean(argument)
		}
	}
	return hash, directory
}

// mountedAt returns the volume that a container mounts as a whole at a directory, "" if there is none.
func mountedAt(c *corev1.Container, directory string) string {
	for _, mount := range c.VolumeMounts {
		if path.Clean(mount.MountPath) == directory && mount.SubPath == "" && mount.SubPathExpr == "" {
			return mount.Name
		}
	}
	return ""
}

// resolve replaces a text that is one variable of the container, as kubelet does: by its value, or by an annotation
// of the pod.
func resolve(text string, c *corev1.Container, pod *corev1.Pod) string {
	name, begins := strings.CutPrefix(text, "$(")
	name, ends := strings.CutSuffix(name, ")")
	if !begins || !ends {
		return text
	}
	for _, variable := range slices.Backward(c.Env) {
		if variable.Name != name {
			continue
		}
		if variable.ValueFrom == nil {
			return variable.Value
		}
		if field := variable.ValueFrom.FieldRef; field != nil {
			return annotationAt(field.FieldPath, pod)
		}
		return ""
	}
	return ""
}

// annotationAt returns the annotation of a pod that a path names as metadata.annotations['KEY'].
func annotationAt(fieldPath string, pod *corev1.Pod) string {
	key := strings.TrimSuffix(strings.TrimPrefix(fieldPath, "metadata.annotations['"), "']")
	return pod.Annotations[key]
}

// shows reports whether a volume shows a part of a Secret or ConfigMap, and whether it shows the whole of it and
// nothing else. Only then the directory has the hash of the object.
func shows(v *corev1.Volume, kind trust.ObjectKind, name string) (part, whole bool) {
	switch {
	case kind == trust.ConfigMapKind && v.ConfigMap != nil:
		return v.ConfigMap.Name == name, len(v.ConfigMap.Items) == 0
	case kind == trust.SecretKind && v.Secret != nil:
		return v.Secret.SecretName == name, len(v.Secret.Items) == 0
	case v.Projected == nil:
		return false, false
	}
	for _, source := range v.Projected.Sources {
		switch {
		case kind == trust.ConfigMapKind && source.ConfigMap != nil && source.ConfigMap.Name == name:
			return true, len(v.Projected.Sources) == 1 && len(source.ConfigMap.Items) == 0
		case kind == trust.SecretKind && source.Secret != nil && source.Secret.Name == name:
			return true, len(v.Projected.Sources) == 1 && len(source.Secret.Items) == 0
		}
	}
	return false, false
}

// ungated returns why a program of the pod may read an object before a gate has seen the content, "" if none may.
func ungated(pod *corev1.Pod, kind trust.ObjectKind, name, hash string) string {
	showing, gated := map[string]bool{}, map[string]int{}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		part, whole := shows(v, kind, name)
		showing[v.Name] = part
		for _, g := range gatesOf(pod) {
			if _, earlier := gated[v.Name]; !earlier && part && whole && g.volume == v.Name && g.hash == hash {
				gated[v.Name] = g.at
			}
		}
	}
	if len(gated) == 0 {
		return fmt.Sprintf("it has no start gate for %[1]s/%[2]s: add an init container that runs `certrotation wait "+
			"--for-content=HASH DIR`, where HASH is the annotation %[3]s and DIR shows the whole of %[1]s/%[2]s, "+
			"or choose startGate: Assumed", kind, name, trust.ContentAnnotation(kind, name))
	}
	// Containers come after all init containers. A sidecar has its place among them.
	for i, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if i < len(pod.Spec.InitContainers) && !sidecar(&c) {
			continue
		}
		past := func(m corev1.VolumeMount) bool {
			at, behind := gated[m.Name]
			return showing[m.Name] && (!behind || at > i)
		}
		if slices.ContainsFunc(c.VolumeMounts, past) {
			return fmt.Sprintf("its container %s mounts %s/%s past the start gate: have the gate run before it, for the volume that it mounts", c.Name, kind, name)
		}
	}
	return ""
}
