// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// container checks one container. Commands and arguments are free: they run in a permitted image.
func (j *judge) container(pod *corev1.Pod, c *corev1.Container, at *field.Path) {
	if !slices.Contains(j.permitted.Images, c.Image) {
		j.refuse(at.Child("image"), fmt.Sprintf("%q", c.Image), fmt.Sprintf("%q in pod.images", c.Image))
	}
	for i, port := range c.Ports {
		if (port.HostPort != 0 || port.HostIP != "") && !j.permitted.HostNetwork {
			j.refuse(at.Child("ports").Index(i).Child("hostPort"), "a port of the node", "pod.hostNetwork")
		}
	}
	j.mounts(pod, c, at.Child("volumeMounts"))
	j.security(c.SecurityContext, at.Child("securityContext"))
	for name, probe := range map[string]*corev1.Probe{
		"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe,
	} {
		if probe != nil {
			j.handler(probe.HTTPGet, probe.TCPSocket, at.Child(name))
		}
	}
	if c.Lifecycle != nil {
		for name, handler := range map[string]*corev1.LifecycleHandler{"postStart": c.Lifecycle.PostStart, "preStop": c.Lifecycle.PreStop} {
			if handler != nil {
				j.handler(handler.HTTPGet, handler.TCPSocket, at.Child("lifecycle", name))
			}
		}
	}
}

// mounts checks volume mounts. podFields omits subPath: when kubelet resolves it, the pod may have placed a symbolic
// link there.
func (j *judge) mounts(pod *corev1.Pod, c *corev1.Container, at *field.Path) {
	for i := range c.VolumeMounts {
		mount := &c.VolumeMounts[i]
		if mount.MountPropagation != nil && *mount.MountPropagation != corev1.MountPropagationNone && !j.permitted.Privileged {
			j.refuse(at.Index(i).Child("mountPropagation"), string(*mount.MountPropagation), askPrivileged)
		}
		if !mount.ReadOnly && j.ofRevision(pod, mount.Name) {
			j.never(at.Index(i).Child("readOnly"), "only the installer writes to the directory of the revision, so it has to be true")
		}
	}
}

// ofRevision reports whether a volume is the directory of the revision.
func (j *judge) ofRevision(pod *corev1.Pod, volume string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Name == volume && v.HostPath != nil && v.HostPath.Path == j.values.Directory
	})
}

func (j *judge) security(c *corev1.SecurityContext, at *field.Path) {
	if c == nil {
		return
	}
	j.profiles(c.SeccompProfile, c.AppArmorProfile, c.SELinuxOptions, at)
	if j.permitted.Privileged {
		return
	}
	if c.Privileged != nil && *c.Privileged {
		j.refuse(at.Child("privileged"), "all rights on the node", askPrivileged)
	}
	if c.AllowPrivilegeEscalation != nil && *c.AllowPrivilegeEscalation {
		j.refuse(at.Child("allowPrivilegeEscalation"), "more rights than the container begins with", askPrivileged)
	}
	if c.Capabilities != nil && len(c.Capabilities.Add) > 0 {
		j.refuse(at.Child("capabilities", "add"), fmt.Sprint(c.Capabilities.Add), askPrivileged)
	}
	if c.ProcMount != nil && *c.ProcMount != corev1.DefaultProcMount {
		j.refuse(at.Child("procMount"), string(*c.ProcMount), askPrivileged)
	}
}

// handler checks the target of a probe or hook. Kubelet connects from the node's network, so the target must be the
// pod, or the node if the pod may use its network.
func (j *judge) handler(get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction, at *field.Path) {
	check := func(host string, port intstr.IntOrString, at *field.Path) {
		if host == "" || j.permitted.HostNetwork && (host == "localhost" || j.own(host)) {
			return
		}
		ask := "a probe by exec instead"
		if j.own(host) || host == "localhost" {
			ask = "pod.hostNetwork"
		}
		j.refuse(at.Child("host"), fmt.Sprintf("kubelet would connect to port %s of %q", port.String(), host), ask)
	}
	if get != nil {
		check(get.Host, get.Port, at.Child("httpGet"))
		for i, header := range get.HTTPHeaders {
			if strings.EqualFold(header.Name, "Host") && header.Value != "localhost" {
				j.never(at.Child("httpGet", "httpHeaders").Index(i), "kubelet would speak to another host")
			}
		}
	}
	if socket != nil {
		check(socket.Host, socket.Port, at.Child("tcpSocket"))
	}
}

// own reports whether a host is the node itself.
func (j *judge) own(host string) bool {
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if err != nil {
		return false
	}
	node, err := netip.ParseAddr(j.values.NodeIP)
	return address.IsLoopback() || err == nil && address == node
}
