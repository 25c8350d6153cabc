// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"fmt"
	"strings"
	"testing"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
)

// honest is a template like the one of etcd. The attacks replace the marked parts.
const honest = `apiVersion: v1
kind: Pod
metadata:
  name: etcd
  namespace: openshift-etcd
  labels: {app: etcd}
  annotations: {team.example.com/force: "1"} #meta
spec:
  hostNetwork: true
  priorityClassName: system-node-critical #priority
  priority: 2000001000
  terminationGracePeriodSeconds: 15
  tolerations: [{operator: Exists}]
  #spec
  containers:
  - name: etcd
    image: etcd #image
    imagePullPolicy: Never
    command: [/etcd, --name=NODE_NAME]
    env:
    - {name: A, value: b}
    - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    readinessProbe: {httpGet: {host: 127.0.0.1, port: 2381, path: /readyz}}
    livenessProbe: {exec: {command: [/etcdctl]}, periodSeconds: 10}
    lifecycle: {preStop: {exec: {command: [/bye]}}}
    resources: {requests: {cpu: 300m}}
    #container
    volumeMounts:
    - {name: data, mountPath: /var/lib/etcd}
    - {name: resources, mountPath: /r, readOnly: true}
    #mount
  volumes:
  - name: data
    hostPath: {path: /var/lib/etcd, type: DirectoryOrCreate}
  - name: scratch
    emptyDir: {}
  - name: resources
    hostPath: {path: /etc/kubernetes/static-pod-resources/etcd-pod-REVISION, type: Directory}
  #volume
`

func etcdClass() *configv1alpha1.PermittedPod {
	return &configv1alpha1.PermittedPod{
		Images: []string{"etcd"}, HostPaths: []string{"/var/lib/etcd"}, HostNetwork: true, PriorityClassNames: []string{"system-node-critical"},
	}
}

func made(t *testing.T, permitted *configv1alpha1.PermittedPod, template string) error {
	t.Helper()
	v := values
	v.Permitted = permitted
	_, err := RenderManifest([]byte(template), v)
	return err
}

func TestPermitsTheHonestPod(t *testing.T) {
	if err := made(t, etcdClass(), honest); err != nil {
		t.Error(err)
	}
}

// TestPermitsWhatKubeadmNotes: kubeadm finds the etcd endpoints of a control plane by its own annotations.
func TestPermitsWhatKubeadmNotes(t *testing.T) {
	const note = `{kubeadm.kubernetes.io/etcd.advertise-client-urls: "https://NODE_IP:2379"}`
	if err := made(t, etcdClass(), strings.Replace(honest, `{team.example.com/force: "1"} #meta`, note, 1)); err != nil {
		t.Error(err)
	}
}

// TestPermitsRefuses attacks a class that permits no more than etcd needs. The refusal names the path of the
// field.
func TestPermitsRefuses(t *testing.T) {
	volume := func(source string) (string, string) { return "#volume", "- {name: evil, " + source + "}\n" }
	hostPath := func(path string) (string, string) { return volume(fmt.Sprintf("hostPath: {path: %q}", path)) }
	in := func(mark, text string) func() (string, string) {
		return func() (string, string) { return mark, text }
	}
	tests := map[string]struct {
		attack func() (mark, text string)
		want   string
	}{
		"another image":                   {in("image: etcd #image", "image: evil"), `spec.containers[0].image: "evil"`},
		"an image that begins alike":      {in("image: etcd #image", "image: etcd:evil"), `spec.containers[0].image: "etcd:evil"`},
		"no image":                        {in("image: etcd #image", ""), `spec.containers[0].image: ""`},
		"another image of an init":        {in("#spec", "initContainers: [{name: i, image: evil}]"), "spec.initContainers[0].image"},
		"an ephemeral container":          {in("#spec", "ephemeralContainers: [{name: e, image: etcd}]"), "spec.ephemeralContainers"},
		"the root of the node":            {func() (string, string) { return hostPath("/") }, "spec.volumes[3].hostPath.path: /"},
		"another directory":               {func() (string, string) { return hostPath("/etc/kubernetes/pki") }, "pod.hostPaths"},
		"a parent of what is permitted":   {func() (string, string) { return hostPath("/var/lib") }, "/var/lib in pod.hostPaths"},
		"a link below what is permitted":  {func() (string, string) { return hostPath("/var/lib/etcd/link") }, "/var/lib/etcd/link in pod.hostPaths"},
		"a path that begins alike":        {func() (string, string) { return hostPath("/var/lib/etcd2") }, "pod.hostPaths"},
		"a path that climbs":              {func() (string, string) { return hostPath("/var/lib/etcd/../../..") }, "without . or .."},
		"a path with a dot":               {func() (string, string) { return hostPath("/var/lib/./etcd") }, "without . or .."},
		"two slashes":                     {func() (string, string) { return hostPath("//var/lib/etcd") }, "without . or .."},
		"a slash at the end":              {func() (string, string) { return hostPath("/var/lib/etcd/") }, "without . or .."},
		"a relative path":                 {func() (string, string) { return hostPath("var/lib/etcd") }, "absolute"},
		"no path":                         {func() (string, string) { return hostPath("") }, "absolute"},
		"a control character":             {func() (string, string) { return hostPath("/var/lib/etcd\x00/..") }, "spec.volumes[3].hostPath.path"},
		"the manifests of kubelet":        {func() (string, string) { return hostPath("/etc/kubernetes/manifests") }, "pod.hostPaths"},
		"all resources":                   {func() (string, string) { return hostPath("/etc/kubernetes/static-pod-resources") }, "pod.hostPaths"},
		"a device":                        {func() (string, string) { return volume("hostPath: {path: /var/lib/etcd, type: BlockDevice}") }, "hostPath.type: BlockDevice"},
		"a Secret":                        {func() (string, string) { return volume("secret: {secretName: x}") }, "spec.volumes[3].secret"},
		"a ConfigMap":                     {func() (string, string) { return volume("configMap: {name: x}") }, "spec.volumes[3].configMap"},
		"a token":                         {func() (string, string) { return volume("projected: {sources: [{serviceAccountToken: {path: t}}]}") }, "spec.volumes[3].projected"},
		"a CSI volume":                    {func() (string, string) { return volume("csi: {driver: x}") }, "spec.volumes[3].csi"},
		"an image volume":                 {func() (string, string) { return volume("image: {reference: evil}") }, "spec.volumes[3].image"},
		"a volume of nothing":             {func() (string, string) { return "#volume", "- {name: evil}\n" }, "neither a hostPath nor an emptyDir"},
		"a subPath":                       {in("#mount", "- {name: data, mountPath: /x, subPath: link}\n"), "spec.containers[0].volumeMounts[2].subPath"},
		"a subPathExpr":                   {in("#mount", "- {name: data, mountPath: /x, subPathExpr: $(A)}\n"), "spec.containers[0].volumeMounts[2].subPathExpr"},
		"mounts that come back":           {in("#mount", "- {name: data, mountPath: /x, mountPropagation: Bidirectional}\n"), "mountPropagation: Bidirectional"},
		"the directory of the revision":   {in("#mount", "- {name: resources, mountPath: /x}\n"), "volumeMounts[2].readOnly"},
		"a raw device":                    {in("#container", "volumeDevices: [{name: data, devicePath: /dev/x}]"), "spec.containers[0].volumeDevices"},
		"process table":                   {in("#spec", "hostPID: true"), "spec.hostPID"},
		"IPC":                             {in("#spec", "hostIPC: true"), "spec.hostIPC"},
		"privileged":                      {in("#container", "securityContext: {privileged: true}"), "spec.containers[0].securityContext.privileged"},
		"privileged init":                 {in("#spec", "initContainers: [{name: i, image: etcd, securityContext: {privileged: true}}]"), "spec.initContainers[0].securityContext.privileged"},
		"a capability":                    {in("#container", "securityContext: {capabilities: {add: [SYS_ADMIN]}}"), "capabilities.add: [SYS_ADMIN]"},
		"escalation":                      {in("#container", "securityContext: {allowPrivilegeEscalation: true}"), "allowPrivilegeEscalation"},
		"unmasked proc":                   {in("#container", "securityContext: {procMount: Unmasked}"), "procMount: Unmasked"},
		"no seccomp":                      {in("#container", "securityContext: {seccompProfile: {type: Unconfined}}"), "seccompProfile.type: Unconfined"},
		"seccomp of the node":             {in("#spec", "securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}"), "spec.securityContext.seccompProfile.type"},
		"no AppArmor":                     {in("#container", "securityContext: {appArmorProfile: {type: Unconfined}}"), "appArmorProfile.type: Unconfined"},
		"no AppArmor by annotation":       {in(`{team.example.com/force: "1"} #meta`, "{container.apparmor.security.beta.kubernetes.io/etcd: unconfined}"), "metadata.annotations[container.apparmor"},
		"an order to CRI-O":               {in(`{team.example.com/force: "1"} #meta`, `{io.kubernetes.cri-o.Devices: /dev/sda}`), "metadata.annotations[io.kubernetes.cri-o.Devices]"},
		"a domain of SELinux":             {in("#container", "securityContext: {seLinuxOptions: {type: spc_t}}"), "seLinuxOptions"},
		"a sysctl":                        {in("#spec", "securityContext: {sysctls: [{name: kernel.core_pattern, value: x}]}"), "spec.securityContext.sysctls"},
		"a host process of Windows":       {in("#container", "securityContext: {windowsOptions: {hostProcess: true}}"), "windowsOptions"},
		"another priority class":          {in("priorityClassName: system-node-critical #priority", "priorityClassName: other"), "other in pod.priorityClassNames"},
		"priority without a class":        {in("priorityClassName: system-node-critical #priority", ""), "spec.priority: 2000001000"},
		"more than the class has":         {in("priority: 2000001000", "priority: 2000001001"), "spec.priority: 2000001001"},
		"another node":                    {in("#spec", "nodeName: master-9"), "spec.nodeName"},
		"a node selector":                 {in("#spec", "nodeSelector: {a: b}"), "spec.nodeSelector"},
		"a service account":               {in("#spec", "serviceAccountName: admin"), "spec.serviceAccountName"},
		"the token of one":                {in("#spec", "automountServiceAccountToken: true"), "spec.automountServiceAccountToken"},
		"another runtime":                 {in("#spec", "runtimeClassName: host"), "spec.runtimeClassName"},
		"other names for hosts":           {in("#spec", "hostAliases: [{ip: 10.0.0.9, hostnames: [api]}]"), "spec.hostAliases"},
		"credentials for images":          {in("#spec", "imagePullSecrets: [{name: x}]"), "spec.imagePullSecrets"},
		"a pod that ends":                 {in("#spec", "restartPolicy: Never"), "spec.restartPolicy"},
		"an owner":                        {in("  labels: {app: etcd}", "  ownerReferences: [{apiVersion: v1, kind: Node, name: n, uid: u}]"), "metadata.ownerReferences"},
		"a finalizer":                     {in("  labels: {app: etcd}", "  finalizers: [a/b]"), "metadata.finalizers"},
		"environment of a Secret":         {in("#container", "envFrom: [{secretRef: {name: x}}]"), "spec.containers[0].envFrom"},
		"a variable of a Secret":          {in("{name: A, value: b}", "{name: A, valueFrom: {secretKeyRef: {name: x, key: k}}}"), "env[0].valueFrom.secretKeyRef"},
		"a terminal":                      {in("#container", "stdin: true"), "spec.containers[0].stdin"},
		"a probe of the metadata service": {in("livenessProbe: {exec: {command: [/etcdctl]}", "livenessProbe: {httpGet: {host: 169.254.169.254, port: 80}"), "livenessProbe.httpGet.host"},
		"a probe of another machine":      {in("livenessProbe: {exec: {command: [/etcdctl]}", "livenessProbe: {tcpSocket: {host: 10.0.0.6, port: 22}"), "livenessProbe.tcpSocket.host"},
		"a hook to another machine":       {in("preStop: {exec: {command: [/bye]}}", "preStop: {httpGet: {host: example.com, port: 80}}"), "lifecycle.preStop.httpGet.host"},
		"a probe with another host":       {in("path: /readyz}", "path: /readyz, httpHeaders: [{name: host, value: example.com}]}"), "httpHeaders[0]"},
		"an alias":                        {in("#spec", "x: &a [1]\n  y: *a"), "YAML aliases and anchors"},
		"an anchor that nobody uses":      {in("{operator: Exists}", "&a {operator: Exists}"), "YAML aliases and anchors"},
		"an unknown field":                {in("#spec", "hostRoot: true"), `unknown field "spec.hostRoot"`},
		"a field in other letters":        {in("#spec", "HostPID: true"), `unknown field "spec.HostPID"`},
		"too long a text":                 {in("#spec", "# "+strings.Repeat("x", maxPodBytes)), "the limit is 262144"},
		"too long once it is expanded":    {in("command: [/etcd, --name=NODE_NAME]", "command: ['"+strings.Repeat("NODE_IP ", 120_000)+"']"), "the limit is 262144"},
	}
	if len(tests) < 30 {
		t.Fatalf("%d attacks", len(tests))
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			mark, text := tc.attack()
			if !strings.Contains(honest, mark) {
				t.Fatalf("the template has no %q", mark)
			}
			err := made(t, etcdClass(), strings.Replace(honest, mark, text, 1))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %.400v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestPermitsWhatTheClassNames: each permission of a class admits what it names.
func TestPermitsWhatTheClassNames(t *testing.T) {
	for name, tc := range map[string]struct {
		mark, text string
		change     func(*configv1alpha1.PermittedPod)
	}{
		"an image":      {"#spec", "initContainers: [{name: i, image: tool}]", func(p *configv1alpha1.PermittedPod) { p.Images = append(p.Images, "tool") }},
		"a directory":   {"#volume", "- {name: more, hostPath: {path: /var/log/etcd}}\n", func(p *configv1alpha1.PermittedPod) { p.HostPaths = append(p.HostPaths, "/var/log/etcd") }},
		"privileged":    {"#container", "securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}", func(p *configv1alpha1.PermittedPod) { p.Privileged = true }},
		"process table": {"#spec", "hostPID: true", func(p *configv1alpha1.PermittedPod) { p.Privileged = true }},
	} {
		t.Run(name, func(t *testing.T) {
			template, class := strings.Replace(honest, tc.mark, tc.text, 1), etcdClass()
			if err := made(t, class, template); err == nil {
				t.Error("it is permitted by a class that does not name it")
			}
			tc.change(class)
			if err := made(t, class, template); err != nil {
				t.Error(err)
			}
		})
	}
	for name, mark := range map[string]string{"network of the node": "spec.hostNetwork", "probe of the node": "readinessProbe.httpGet.host"} {
		class := etcdClass()
		class.HostNetwork = false
		if err := made(t, class, honest); err == nil || !strings.Contains(err.Error(), mark) {
			t.Errorf("%s: got %v, want %s", name, err, mark)
		}
	}
	if err := made(t, nil, honest); err == nil || !strings.Contains(err.Error(), "no StaticPodClass") {
		t.Errorf("without a class: %v", err)
	}
}

// FuzzPermits: no template makes the reader panic, and an admitted one mounts only permitted paths.
func FuzzPermits(f *testing.F) {
	f.Add([]byte(honest))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("apiVersion: v1\nkind: Pod\nspec: {volumes: [{name: x, hostPath: {path: /}}]}"))
	f.Fuzz(func(t *testing.T, template []byte) {
		v := values
		v.Permitted = etcdClass()
		manifest, err := RenderManifest(template, v)
		if err != nil {
			return
		}
		pod, err := ParsePod(manifest)
		if err != nil {
			t.Fatalf("the manifest cannot be read: %v", err)
		}
		for _, volume := range pod.Spec.Volumes {
			if p := volume.HostPath; p != nil && p.Path != v.Directory && p.Path != "/var/lib/etcd" {
				t.Errorf("it mounts %s", p.Path)
			}
		}
		for _, c := range containers(pod) {
			if c.Image != "etcd" {
				t.Errorf("it runs %s", c.Image)
			}
		}
	})
}
