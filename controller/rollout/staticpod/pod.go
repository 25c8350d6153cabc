// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/rollout"
	"certrotation.dev/registry/view/inventory"
)

// Metadata of installer and pruner pods.
const (
	labelApp           = "app"
	appInstaller       = "installer"
	appPruner          = "pruner"
	annotationAttempt  = "certrotation.dev/attempt"
	annotationNodeUID  = "certrotation.dev/node-uid"
	annotationRestarts = "certrotation.dev/restarts"
)

const (
	sourceDirectory = "/revision"
	hostVolume      = "host"
	containerName   = "certrotation"
	// deadlineSlack is how long after its own timeout a program may take to report it.
	deadlineSlack = 5 * time.Second
	// maxPodName is the longest name that the kubelet can make a log directory of.
	maxPodName = 253
)

// installerPod installs one revision on one node. It mounts all that it needs: the copies of the revision, of the
// leaves only the node's own, and the directories that it writes. nodeHash is the ContentHash of exactly that. The
// pod is pinned to the node and tolerates every taint. It uses the host network because a node without a pod network
// has no other.
func (l *look) installerPod(node *rollout.Node, r *rollout.Revision, action *rollout.Action, nodeHash string) *corev1.Pod {
	cfg, class := l.rollout.Config, l.rollout.Class
	pod := l.pod(node.Name, node.UID, appInstaller, r.Number)
	pod.Name = installerName(node.Name, r.Number, action.Attempt)
	pod.Annotations[annotationAttempt] = strconv.Itoa(action.Attempt)
	pod.Annotations[annotationRestarts] = strconv.FormatBool(action.Restarts)
	l.mountSources(pod, node.Name, r.Number)
	c := &pod.Spec.Containers[0]
	c.Args = append(c.Args,
		"installer",
		"--rollout="+l.name,
		"--revision="+strconv.Itoa(r.Number),
		"--node-name="+node.Name,
		"--node-ip="+node.Address,
		"--source-dir="+sourceDirectory,
		"--resource-dir="+class.ResourceDirectory,
		"--manifest-dir="+class.ManifestDirectory,
		"--manifest-file="+class.ManifestFile,
		"--pod-configmap="+cfg.PodConfigMapName,
		"--content-hash="+r.ContentHash,
		"--node-content-hash="+nodeHash,
		"--restart-hash="+r.RestartHash,
		"--timeout="+cfg.InstallerTimeout.Duration.String(),
	)
	for _, name := range cfg.ReloadedSecretNames {
		c.Args = append(c.Args, "--reloaded-secret="+name)
	}
	c.Args = append(c.Args, l.companions()...)
	for _, name := range cfg.Companions {
		// It holds strings and booleans only, so this cannot fail.
		permitted, _ := json.Marshal(class.Permitted(name))
		c.Args = append(c.Args, "--permit-companion="+name+"="+string(permitted))
	}
	c.Args = append(c.Args, permissions(&class.Pod)...)
	return pod
}

// companions returns the arguments that tell installer and pruner which other static pods are on the node, and where
// their manifests are.
func (l *look) companions() []string {
	out := make([]string, 0, len(l.rollout.Config.Companions))
	for _, name := range l.rollout.Config.Companions {
		out = append(out, "--companion="+name+"="+l.rollout.Class.Companion(name).ManifestFile)
	}
	return out
}

// permissions returns the arguments that tell the installer what the class permits. The installer checks the manifest
// again by these alone, and by nothing that is read in the namespace.
func permissions(permitted *configv1alpha1.PermittedPod) []string {
	out := []string{
		"--permit-host-network=" + strconv.FormatBool(permitted.HostNetwork),
		"--permit-privileged=" + strconv.FormatBool(permitted.Privileged),
	}
	for flag, values := range map[string][]string{
		"--permit-image=": permitted.Images, "--permit-host-path=": permitted.HostPaths, "--permit-priority-class=": permitted.PriorityClassNames,
	} {
		for _, value := range values {
			out = append(out, flag+value)
		}
	}
	slices.Sort(out)
	return out
}

func (l *look) prunerPod(action *rollout.Action) *corev1.Pod {
	cfg, class := l.rollout.Config, l.rollout.Class
	pod := l.pod(action.Node, action.NodeUID, appPruner, action.Revision)
	pod.Name = shortened(fmt.Sprintf("revision-pruner-%d-%s", action.Revision, action.Node))
	protected := make([]string, 0, len(action.Protected))
	for _, number := range action.Protected {
		protected = append(protected, strconv.Itoa(number))
	}
	pod.Spec.Containers[0].Args = []string{
		"prune",
		"--rollout=" + l.name,
		"--max-eligible-revision=" + strconv.Itoa(action.Revision),
		"--protected-revisions=" + strings.Join(protected, ","),
		"--resource-dir=" + class.ResourceDirectory,
		"--manifest-dir=" + class.ManifestDirectory,
		"--manifest-file=" + class.ManifestFile,
		"--timeout=" + cfg.InstallerTimeout.Duration.String(),
	}
	pod.Spec.Containers[0].Args = append(pod.Spec.Containers[0].Args, l.companions()...)
	return pod
}

// pod is the common part of installer and pruner pods.
func (l *look) pod(node, nodeUID, app string, number int) *corev1.Pod {
	cfg := l.rollout.Config
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   l.namespace,
			Labels:      map[string]string{labelApp: app, nodepod.LabelRollout: l.name, nodepod.LabelRevision: strconv.Itoa(number)},
			Annotations: map[string]string{annotationNodeUID: nodeUID},
		},
		Spec: corev1.PodSpec{
			NodeName: node,
			// The program times out before that, and reports why. The kubelet enforces this deadline even without the
			// API server.
			ActiveDeadlineSeconds:        new(int64((cfg.InstallerTimeout.Duration + deadlineSlack).Seconds())),
			ServiceAccountName:           serviceAccount,
			AutomountServiceAccountToken: new(false),
			EnableServiceLinks:           new(false),
			RestartPolicy:                corev1.RestartPolicyNever,
			HostNetwork:                  true,
			PriorityClassName:            "system-node-critical",
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsUser: ptr.To[int64](0), RunAsGroup: ptr.To[int64](0),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name:                     containerName,
				Image:                    l.rollout.Class.Image,
				ImagePullPolicy:          corev1.PullIfNotPresent,
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("32Mi")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
				},
				// The files are accessible to root only, so it runs as root, with no further rights. With SELinux, a
				// container may write to the host only with this type; elsewhere the type has no effect.
				SecurityContext: &corev1.SecurityContext{
					SELinuxOptions:           &corev1.SELinuxOptions{Type: "spc_t"},
					AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
	l.mountHost(pod)
	return pod
}

// mountHost mounts the directories of resources and manifests, and nothing else. The manifest directory is the
// kubelet's: if it is absent, the kubelet is not configured for static pods, or the class is wrong.
func (l *look) mountHost(pod *corev1.Pod) {
	for i, directory := range []struct {
		path string
		kind corev1.HostPathType
	}{
		{l.rollout.Class.ResourceDirectory, corev1.HostPathDirectoryOrCreate},
		{l.rollout.Class.ManifestDirectory, corev1.HostPathDirectory},
	} {
		name := hostVolume + strconv.Itoa(i)
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			HostPath: &corev1.HostPathVolumeSource{Path: directory.path, Type: new(directory.kind)},
		}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: directory.path})
	}
}

// mountSources mounts the copies of a revision as configmaps/NAME/KEY and secrets/NAME/KEY. Of the aggregate it
// mounts the node's copy, which holds only the node's pairs. A kubelet may read every Secret that the pods of its
// node refer to. So no pod refers to a Secret with the keys of other nodes.
func (l *look) mountSources(pod *corev1.Pod, node string, number int) {
	mount := func(source corev1.VolumeSource, at string) {
		name := "source" + strconv.Itoa(len(pod.Spec.Volumes))
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: name, MountPath: path.Join(sourceDirectory, at), ReadOnly: true})
	}
	mode := ptr.To[int32](0o400)
	for _, name := range l.configMapNames() {
		mount(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: nodepod.CopyName(name, number)}, DefaultMode: mode,
		}}, path.Join("configmaps", name))
	}
	for _, name := range l.rollout.Config.SecretNames {
		source := &corev1.SecretVolumeSource{SecretName: nodepod.CopyName(name, number), DefaultMode: mode}
		if name == l.aggregateSecret() {
			source.SecretName = nodepod.NodeCopyName(name, number, node)
		}
		mount(corev1.VolumeSource{Secret: source}, path.Join("secrets", name))
	}
}

func pairKeys(leaves []string) []string {
	keys := make([]string, 0, 2*len(leaves))
	for _, leaf := range leaves {
		cert, key := inventory.AggregateKeys(leaf)
		keys = append(keys, cert, key)
	}
	return keys
}

// installerName returns the same name as library-go.
func installerName(node string, number, attempt int) string {
	if attempt == 0 {
		return shortened(fmt.Sprintf("installer-%d-%s", number, node))
	}
	return shortened(fmt.Sprintf("installer-%d-retry-%d-%s", number, attempt, node))
}

// shortened truncates a name that is too long for a pod, and appends a hash to keep it distinct.
func shortened(name string) string {
	if len(name) <= maxPodName {
		return name
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	const digits = 16
	return strings.TrimRight(name[:maxPodName-digits-1], "-.") + fmt.Sprintf("-%016x", hash.Sum64())
}
