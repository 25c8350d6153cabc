// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/podcontent"
	"certrotation.dev/registry/trust"
)

// Pod is what is known of a Pod.
type Pod struct {
	// ObjectMeta has name, namespace, UID, resource version and all labels, because any label may be selected.
	metav1.ObjectMeta
	// Node that the pod is bound to, "" if none.
	Node string
	// Address is the first IP as canonical text, "" if there is none or the pod uses the network of its node.
	Address string
	// HostNetwork is true if the pod uses the network of its node.
	HostNetwork bool
	// Ports of the containers by name. A name that is declared twice maps to 0.
	Ports map[string]int32
	// RestartedAt is the latest start of a running container, zero if none runs.
	RestartedAt time.Time
	// Life is the state that the model needs.
	Life trust.Pod
	// Workload created the pod; zero if no restartable workload did.
	Workload trust.Workload
	// Content are the annotations that name the content that the pod starts with.
	Content map[string]string
	// Secrets are the names of the Secrets in its volumes, ordered.
	Secrets []string
}

// ParsePod keeps what the model needs of a Pod.
func ParsePod(pod *corev1.Pod) *Pod {
	out := &Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Labels: maps.Clone(pod.Labels),
		},
		Node: pod.Spec.NodeName, HostNetwork: pod.Spec.HostNetwork, Ports: portsOf(pod),
		Life:     trust.Pod{Terminating: pod.DeletionTimestamp != nil},
		Workload: workloadOf(pod), Content: keptEntries(pod.Annotations, trust.IsContentAnnotation),
		Secrets: podcontent.Secrets(&pod.Spec),
	}
	if ip, err := netip.ParseAddr(pod.Status.PodIP); err == nil && ip.Zone() == "" && !out.HostNetwork {
		out.Address = ip.Unmap().String()
	}
	out.readContainers(pod)
	return out
}

// readContainers summarizes the containers of a pod. Init containers that end before the others start do not count:
// nothing that they have loaded is used later.
func (p *Pod) readContainers(pod *corev1.Pod) {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if policy := pod.Spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			sidecars[pod.Spec.InitContainers[i].Name] = true
		}
	}
	statuses := slices.Clone(pod.Status.ContainerStatuses)
	for _, status := range pod.Status.InitContainerStatuses {
		if sidecars[status.Name] {
			statuses = append(statuses, status)
		}
	}
	slices.SortFunc(statuses, func(x, y corev1.ContainerStatus) int { return cmp.Compare(x.Name, y.Name) })
	var running []string
	for i := range statuses {
		s := &statuses[i]
		if s.State.Running != nil {
			running = append(running, s.Name, s.ContainerID, strconv.Itoa(int(s.RestartCount)))
			p.RestartedAt = later(p.RestartedAt, s.State.Running.StartedAt.Time)
		}
		if s.State.Running != nil || s.State.Terminated != nil || s.LastTerminationState.Terminated != nil || s.RestartCount > 0 {
			p.Life.Started = true
		}
		if waiting := s.State.Waiting; waiting != nil && p.Life.Trouble == "" && waiting.Reason != "" && !harmless[waiting.Reason] {
			p.Life.Trouble = fmt.Sprintf("its container %s is in %s", s.Name, waiting.Reason)
		}
	}
	final := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	p.Life.Ended = final && len(running) == 0
	if final && len(running) > 0 {
		p.Life.Trouble = "its phase is " + string(pod.Status.Phase) + ", but its node has not said that its containers have ended"
	}
	if len(running) > 0 {
		p.Life.Process = processOf(pod, running)
	}
}

// harmless are the waiting reasons that indicate no trouble.
var harmless = map[string]bool{"ContainerCreating": true, "PodInitializing": true}

// processOf returns an ID that stays the same while the same containers run.
func processOf(pod *corev1.Pod, running []string) string {
	sum := sha256.Sum256([]byte(strings.Join(running, "\n")))
	return string(pod.UID) + "/" + hex.EncodeToString(sum[:8])
}

func portsOf(pod *corev1.Pod) map[string]int32 {
	var out map[string]int32
	add := func(containers []corev1.Container) {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.Name == "" {
					continue
				}
				if out == nil {
					out = map[string]int32{}
				}
				if _, twice := out[port.Name]; twice {
					port.ContainerPort = 0
				}
				out[port.Name] = port.ContainerPort
			}
		}
	}
	add(pod.Spec.Containers)
	add(pod.Spec.InitContainers)
	return out
}

func later(x, y time.Time) time.Time {
	if y.After(x) {
		return y
	}
	return x
}

// same reports whether two states of a pod are equal for every domain. The volumes of a pod never change.
func (p *Pod) same(other *Pod) bool {
	return p.UID == other.UID && p.Node == other.Node && p.Address == other.Address && p.HostNetwork == other.HostNetwork &&
		p.RestartedAt.Equal(other.RestartedAt) && p.Life == other.Life && maps.Equal(p.Labels, other.Labels) && maps.Equal(p.Ports, other.Ports) &&
		p.Workload == other.Workload && maps.Equal(p.Content, other.Content)
}

// textOf returns the canonical text of a selector, "" if it is empty or invalid: no pods are read for it.
func textOf(selector *metav1.LabelSelector) string {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || parsed.Empty() {
		return ""
	}
	return parsed.String()
}

// everyPod selects all pods. It reads the pods that mount a leaf, because the API server cannot select by that.
const everyPod = ""

// selectorsOf returns the canonical texts of the selectors that read the pods of a configuration, each once, ordered.
func selectorsOf(cfg *configv1alpha1.RotationConfigurationSpec) []string {
	var out []string
	for i := range cfg.TrustDomains {
		for j := range cfg.TrustDomains[i].RelyingParties {
			pods := cfg.TrustDomains[i].RelyingParties[j].Pods
			if pods == nil {
				continue
			}
			switch text := textOf(&pods.Selector); {
			case pods.Mounting != nil:
				out = append(out, everyPod)
			case text != "":
				out = append(out, text)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pods returns the pods that a relying party selects and that count, ordered by name. listed reports whether all of
// them are known: if not, other selectors may have found some.
func (b *builder) pods(cfg *configv1alpha1.PodMembers) (out []*Pod, listed bool, err error) {
	chooses, read, err := chooserOf(cfg)
	if chooses == nil || err != nil {
		return nil, false, err
	}
	if b.podNames == nil {
		b.podNames = sortedNames(b.sources.Pods)
	}
	for _, name := range b.podNames {
		pod := b.sources.Pods[name]
		if pod.Life.Life() != trust.PodEnded && chooses(pod) {
			out = append(out, pod)
		}
	}
	return out, b.sources.Selectors[read], nil
}

// chooserOf returns a function that selects the pods of a party, nil for none, and the selector that reads them.
func chooserOf(cfg *configv1alpha1.PodMembers) (chooses func(*Pod) bool, read string, err error) {
	if cfg.Mounting != nil {
		return func(pod *Pod) bool { return slices.Contains(pod.Secrets, cfg.Mounting.SecretOf(pod.Node)) }, everyPod, nil
	}
	chosen, err := metav1.LabelSelectorAsSelector(&cfg.Selector)
	if err != nil {
		return nil, "", fmt.Errorf("pods: %w", err)
	}
	if chosen.Empty() {
		return nil, "", nil
	}
	return func(pod *Pod) bool { return chosen.Matches(labels.Set(pod.Labels)) }, chosen.String(), nil
}

// chosenBy returns the text of what selects the pods of a party.
func chosenBy(cfg *configv1alpha1.PodMembers) string {
	if cfg.Mounting != nil {
		return trust.Mounting(cfg.Mounting.SecretName)
	}
	return textOf(&cfg.Selector)
}

func (b *builder) podMembers(domain string, out *trust.Party, cfg *configv1alpha1.RelyingParty, leaves *leafIndex) error {
	pods, listed, err := b.pods(cfg.Pods)
	if err != nil {
		return err
	}
	out.OfPods, out.Unlisted, out.Presents, out.Selector = true, !listed, leaves.templates(cfg.Presents), chosenBy(cfg.Pods)
	for _, pod := range pods {
		member := trust.Member{
			Name: pod.Name, Instance: string(pod.UID), Pod: &pod.Life, RestartedAt: pod.RestartedAt,
			Workload: pod.Workload, Content: pod.Content,
			Holds:        leaves.heldBy(cfg.Presents, pod.Node),
			Observations: b.observations(domain, cfg.Name, pod.Name),
		}
		if cfg.Evidence.TLSProbe != nil {
			member.Probes = []trust.Probe{pod.probe(cfg, leaves)}
		}
		out.Members = append(out.Members, member)
	}
	return nil
}

// probe returns how to probe a pod. If there is no address, Unknown says why.
func (p *Pod) probe(cfg *configv1alpha1.RelyingParty, leaves *leafIndex) trust.Probe {
	probe := cfg.Evidence.TLSProbe
	out := trust.Probe{
		Handshake:  probe.Proof == configv1alpha1.ProofHandshake,
		ServerName: cmp.Or(cfg.Pods.ServerName, probe.ServerName),
		ClientLeaf: probe.ClientLeaf,
		Interval:   durationOf(probe.Interval),
		Timeout:    durationOf(probe.Timeout),
	}
	if len(cfg.Presents) == 1 {
		out.Presents = leaves.held(cfg.Presents[0], p.Node)
	}
	port, declared := cfg.Pods.ContainerPort, true
	if name := cfg.Pods.PortName; name != "" {
		port, declared = p.Ports[name]
	}
	switch {
	case !declared:
		out.Unknown = fmt.Sprintf("none of its containers has a port named %s", cfg.Pods.PortName)
	case port == 0:
		out.Unknown = fmt.Sprintf("several of its ports are named %s", cfg.Pods.PortName)
	case p.HostNetwork:
		out.Unknown = "it uses the network of its node, where its port may be another process's: declare a party with forEachNode and " +
			"the endpoint {node}:PORT, or use evidence of the kind acknowledgement"
	case p.Address == "":
		out.Unknown = "it has no IP address"
	default:
		out.Address = net.JoinHostPort(p.Address, strconv.Itoa(int(port)))
	}
	return out
}

// templates returns the leaves that any pod of a party may present: of a leaf per node, all of them.
func (x *leafIndex) templates(presents []string) []string {
	var out []string
	for _, l := range x.leaves {
		if slices.Contains(presents, l.cfg.SecretName) {
			out = append(out, l.leaf.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MaxPods of one selector.
const MaxPods = 5000
