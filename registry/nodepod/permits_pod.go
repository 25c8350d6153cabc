// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// askPrivileged is the class field that permits root on the node.
const askPrivileged = "pod.privileged"

// Priorities of the Kubernetes classes, and the highest priority of other classes.
const (
	nodeCritical    int32 = 2000001000
	clusterCritical int32 = 2000000000
	highestOfUsers  int32 = 1000000000
)

// toolDomains are annotation domains of kubectl and kubeadm only. They have no effect on a node.
var toolDomains = []string{"kubectl.kubernetes.io", "kubeadm.kubernetes.io"}

// metadata refuses annotations that control kubelet or a container runtime.
func (j *judge) metadata(pod *corev1.Pod) {
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		domain, _, ok := strings.Cut(key, "/")
		if ok && commands(domain) && !slices.Contains(toolDomains, domain) {
			j.never(metadataPath.Child("annotations").Key(key), "annotations of this domain control kubelet or a container runtime")
		}
		if !ok && commands(key) {
			j.never(metadataPath.Child("annotations").Key(key), "it controls a container runtime")
		}
	}
}

// commands reports whether a domain, possibly in reverse notation, belongs to Kubernetes or a container runtime.
func commands(domain string) bool {
	domain = strings.ToLower(domain)
	for _, owner := range []string{"kubernetes.io", "k8s.io", "crio.io", "containerd.io", "nri.io", "katacontainers.io", "nvidia.com"} {
		if domain == owner || strings.HasSuffix(domain, "."+owner) {
			return true
		}
	}
	return strings.HasPrefix(domain, "io.") || strings.Contains(domain, "cri-o") || strings.HasPrefix(domain, "run.oci.")
}

func (j *judge) pod(spec *corev1.PodSpec) {
	if spec.HostNetwork && !j.permitted.HostNetwork {
		j.refuse(specPath.Child("hostNetwork"), "the network of the node", "pod.hostNetwork")
	}
	if spec.HostPID && !j.permitted.Privileged {
		j.refuse(specPath.Child("hostPID"), "the process table of the node", askPrivileged)
	}
	if spec.HostIPC && !j.permitted.Privileged {
		j.refuse(specPath.Child("hostIPC"), "the IPC of the node", askPrivileged)
	}
	if spec.AutomountServiceAccountToken != nil && *spec.AutomountServiceAccountToken {
		j.never(specPath.Child("automountServiceAccountToken"), "a static pod has no service account token")
	}
	if spec.RestartPolicy != "" && spec.RestartPolicy != corev1.RestartPolicyAlways {
		j.never(specPath.Child("restartPolicy"), fmt.Sprintf("%q: kubelet has to keep a static pod running", spec.RestartPolicy))
	}
	j.priority(spec)
	if c := spec.SecurityContext; c != nil {
		at := specPath.Child("securityContext")
		j.profiles(c.SeccompProfile, c.AppArmorProfile, c.SELinuxOptions, at)
	}
}

// priority checks class and number: kubelet takes the number of a static pod as it is, and evicts other pods for it.
func (j *judge) priority(spec *corev1.PodSpec) {
	name, listed := spec.PriorityClassName, slices.Contains(j.permitted.PriorityClassNames, spec.PriorityClassName)
	if name != "" && !listed {
		j.refuse(specPath.Child("priorityClassName"), name, fmt.Sprintf("%s in pod.priorityClassNames", name))
	}
	if spec.Priority == nil || *spec.Priority <= 0 {
		return
	}
	most := highestOfUsers
	switch name {
	case "":
		most = 0
	case "system-node-critical":
		most = nodeCritical
	case "system-cluster-critical":
		most = clusterCritical
	}
	if *spec.Priority > most {
		j.refuse(specPath.Child("priority"), fmt.Sprintf("%d is more than a pod with the priorityClassName %q has", *spec.Priority, name),
			"the class of that priority in pod.priorityClassNames, and name it in the manifest")
	}
}

// volumes permits emptyDirs, and hostPaths by their exact paths.
func (j *judge) volumes(volumes []corev1.Volume) {
	for i := range volumes {
		at, source := specPath.Child("volumes").Index(i), volumes[i].HostPath
		switch {
		case source != nil:
			j.hostPath(source, at.Child("hostPath"))
		case volumes[i].EmptyDir == nil:
			j.never(at, "it is neither a hostPath nor an emptyDir")
		}
	}
}

func (j *judge) hostPath(source *corev1.HostPathVolumeSource, at *field.Path) {
	named := at.Child("path")
	if !path.IsAbs(source.Path) || path.Clean(source.Path) != source.Path || strings.ContainsFunc(source.Path, control) {
		j.never(named, fmt.Sprintf("%q is not an absolute path without . or .. or a slash at its end", source.Path))
		return
	}
	if source.Path != j.values.Directory && !slices.Contains(j.permitted.HostPaths, source.Path) {
		j.refuse(named, source.Path, fmt.Sprintf("%s in pod.hostPaths", source.Path))
	}
	if source.Type == nil {
		return
	}
	switch *source.Type {
	case corev1.HostPathUnset, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate:
	default:
		if !j.permitted.Privileged {
			j.refuse(at.Child("type"), string(*source.Type), askPrivileged)
		}
	}
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// profiles checks the seccomp, AppArmor and SELinux settings of a pod or a container.
func (j *judge) profiles(seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile, selinux *corev1.SELinuxOptions, at *field.Path) {
	if j.permitted.Privileged {
		return
	}
	if seccomp != nil && seccomp.Type != corev1.SeccompProfileTypeRuntimeDefault {
		j.refuse(at.Child("seccompProfile", "type"), string(seccomp.Type), askPrivileged)
	}
	if appArmor != nil && appArmor.Type != corev1.AppArmorProfileTypeRuntimeDefault {
		j.refuse(at.Child("appArmorProfile", "type"), string(appArmor.Type), askPrivileged)
	}
	if selinux != nil {
		j.refuse(at.Child("seLinuxOptions"), fmt.Sprintf("type %q", selinux.Type), askPrivileged)
	}
}
