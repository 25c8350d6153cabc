// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"certrotation.dev/registry/nodepod"
	"certrotation.dev/registry/quorum"
)

// disk of a machine: the manifest, and the trust and leaf of its pointer.
type disk struct {
	manifest    int
	hash        string
	trust, leaf int
}

// machine is a node with a kubelet and an etcd member.
type machine struct {
	*world

	name   string
	uid    types.UID
	number uint64
	// kubelet and power tell what works.
	kubelet, power bool
	disk           disk
	// runs is the restart hash of the process, "" without a process. readyAt is when it becomes ready.
	runs    string
	readyAt time.Time
	// companionsReadyAt is when the companions become ready: they start with the process. companionsRun is set if
	// they run something else.
	companionsReadyAt time.Time
	companionsRun     string
	// replaced is true if an installer replaced the manifests and kubelet has not seen it.
	replaced bool
	// restarting is true from a restart by a manifest until the process is ready.
	restarting bool
	restarts   int
	// failures is how many of the next installers fail. A member with the trust bad never becomes ready. No pruner
	// succeeds if unprunable is true.
	failures   int
	bad        int
	unprunable bool
	// reported is the last reported state of the Node object.
	reported string
	// pods are the start times of the running pods, by name.
	pods map[string]time.Time
}

// startup is how long a member takes to become ready.
const startup = 3 * time.Second

func (w *world) addMachine(name string) *machine {
	m := &machine{world: w, name: name, number: uint64(len(w.machines) + 1), kubelet: true, power: true, pods: map[string]time.Time{}}
	w.machines = append(w.machines, m)
	m.register()
	return m
}

// register creates the Node object, with a new UID.
func (m *machine) register() {
	m.drop("nodes", m.name)
	m.uid = types.UID(fmt.Sprintf("node-%s-%d", m.name, m.api.Version()))
	m.report()
}

// replace makes it a new machine with the same name and an empty disk.
func (m *machine) replace() {
	m.disk, m.runs, m.restarting, m.kubelet, m.power = disk{}, "", false, true, true
	m.pods = map[string]time.Time{}
	m.drop("pods", "etcd-"+m.name)
	m.register()
}

// up reports whether the process works, apart from its peers.
func (m *machine) up() bool {
	return m.power && m.runs != "" && !m.clock.Now().Before(m.readyAt) && (m.bad == 0 || m.bad != m.disk.trust)
}

// ready is the result of the readiness probe: the process serves linearizable reads.
func (m *machine) ready() bool { return m.up() && m.quorate() }

// companionsReady is the result of their readiness probes.
func (m *machine) companionsReady() bool {
	return len(m.config.Companions) == 0 || !m.clock.Now().Before(m.companionsReadyAt)
}

func (w *world) quorate() bool {
	up := 0
	for _, m := range w.machines {
		if m.up() {
			up++
		}
	}
	return up >= len(w.machines)/2+1
}

func (m *machine) report() {
	status := corev1.ConditionTrue
	if !m.kubelet || !m.power {
		status = corev1.ConditionUnknown
	}
	if m.reported == string(status)+string(m.uid) {
		return
	}
	m.reported = string(status) + string(m.uid)
	m.put(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.name, UID: m.uid, Labels: map[string]string{"role": "master"}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Reason: "Test"}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", m.number)}},
		},
	})
}

// tick advances the machine by one second.
func (m *machine) tick() {
	m.report()
	if m.kubelet && m.power {
		m.runPods()
		m.runManifest()
	}
	if m.restarting && m.ready() && m.companionsReady() {
		m.restarting = false
	}
	m.mirror("etcd-"+m.name, m.runs, m.ready())
	for _, companion := range m.config.Companions {
		m.mirror(companion+"-"+m.name, cmp.Or(m.companionsRun, m.runs), m.companionsReady())
	}
}

func (m *machine) runManifest() {
	if m.disk.hash == m.runs && !m.replaced || m.disk.hash == "" {
		return
	}
	m.replaced = false
	if m.runs != "" {
		m.restarts++
		for _, other := range m.machines {
			if other != m && other.restarting {
				m.t.Fatalf("%s restarts while %s does", m.name, other.name)
			}
		}
		m.restarting = true
	}
	m.runs, m.readyAt, m.companionsReadyAt, m.companionsRun = m.disk.hash, m.clock.Now().Add(startup), m.clock.Now().Add(3*startup), ""
}

// mirror writes a mirror pod. If the machine does not report, the control plane marks its pod as not ready.
func (m *machine) mirror(name, hash string, isReady bool) {
	old, err := m.client.CoreV1().Pods(testNamespace).Get(m.ctx, name, metav1.GetOptions{})
	if m.runs == "" && err != nil {
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err == nil {
		pod = old.DeepCopy()
	}
	ready := corev1.ConditionFalse
	if m.kubelet && m.power {
		pod.Labels = map[string]string{nodepod.LabelRevision: strconv.Itoa(m.disk.manifest)}
		pod.Annotations = map[string]string{annotationMirror: "x", annotationSource: sourceFile, nodepod.AnnotationRestartHash: hash}
		pod.Spec.NodeName = m.name
		pod.Status.Phase = corev1.PodRunning
		if isReady {
			ready = corev1.ConditionTrue
		}
	}
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(m.clock.Now())}
	if len(pod.Status.Conditions) > 0 && pod.Status.Conditions[0].Status == ready {
		condition = pod.Status.Conditions[0]
	}
	pod.Status.Conditions = []corev1.PodCondition{condition}
	if err != nil || !equality.Semantic.DeepEqual(old, pod) {
		m.put(pod)
	}
}

// runPods runs the pods that are bound to the machine. Each takes two seconds.
func (m *machine) runPods() {
	list, err := m.client.CoreV1().Pods(testNamespace).List(m.ctx, metav1.ListOptions{})
	if err != nil {
		m.t.Fatalf("list pods: %v", err)
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Spec.NodeName != m.name || pod.Labels[labelApp] == "" || finished(pod) {
			continue
		}
		if pod.Annotations[annotationNodeUID] != string(m.uid) {
			continue
		}
		began, ok := m.pods[pod.Name]
		switch {
		case !ok:
			m.pods[pod.Name] = m.clock.Now()
			pod.Status.Phase = corev1.PodRunning
		case m.clock.Now().Before(began.Add(time.Second)):
			continue
		default:
			m.finish(pod)
		}
		m.put(pod)
	}
}

func (m *machine) finish(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodSucceeded
	code, message := int32(0), "done"
	switch {
	case pod.Labels[labelApp] != appInstaller && m.unprunable:
		pod.Status.Phase, code, message = corev1.PodFailed, 1, "the disk is read-only"
	case pod.Labels[labelApp] == appInstaller:
		if m.failures > 0 {
			m.failures--
			pod.Status.Phase, code, message = corev1.PodFailed, 1, "the disk is full"
		} else if err := m.install(pod); err != nil {
			pod.Status.Phase, code, message = corev1.PodFailed, 1, err.Error()
		}
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: containerName, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message, FinishedAt: metav1.NewTime(m.clock.Now())},
	}}}
}

// install does the work of the installer, with the content mounted into the pod.
func (m *machine) install(pod *corev1.Pod) error {
	number, _ := nodepod.ParseNumber(pod.Labels[nodepod.LabelRevision])
	bundles, err := m.client.CoreV1().ConfigMaps(testNamespace).Get(m.ctx, nodepod.CopyName("bundles", number), metav1.GetOptions{})
	if err != nil {
		return err
	}
	certs, err := m.client.CoreV1().Secrets(testNamespace).Get(m.ctx, nodepod.CopyName("certs", number), metav1.GetOptions{})
	if err != nil {
		return err
	}
	hash := ""
	for _, arg := range pod.Spec.Containers[0].Args {
		if value, ok := strings.CutPrefix(arg, "--restart-hash="); ok {
			hash = value
		}
	}
	trust, _ := strconv.Atoi(strings.TrimPrefix(bundles.Data["ca.crt"], "trust "))
	leaf, _ := strconv.Atoi(string(certs.Data["leaf"]))
	if m.disk.hash != hash || m.companionsRun != "" {
		if m.runs != "" && pod.Annotations[annotationRestarts] != "true" {
			m.t.Fatalf("%s restarts %s, which was not expected", pod.Name, m.name)
		}
		m.disk.manifest, m.disk.hash, m.replaced = number, hash, true
	}
	m.disk.trust, m.disk.leaf = trust, leaf
	return nil
}

// observe returns what an etcd client finds.
func (w *world) observe() quorum.Observation {
	var (
		answers []quorum.Answer
		listed  []quorum.Listed
		alive   []uint64
	)
	for _, m := range w.machines {
		listed = append(listed, quorum.Listed{ID: m.number, Name: m.name})
		if m.up() {
			alive = append(alive, m.number)
		}
	}
	for _, m := range w.machines {
		a := quorum.Answer{Node: m.name, At: w.clock.Now()}
		switch {
		case m.ready():
			a.MemberID, a.ClusterID, a.Healthy, a.Confirmed, a.Listed, a.Leader = m.number, 7, true, true, listed, alive[0]
			a.Connected = slices.DeleteFunc(slices.Clone(alive), func(id uint64) bool { return id == m.number })
		case m.power && m.runs != "":
			a.MemberID, a.ClusterID, a.Listed, a.Failure = m.number, 7, listed, "no leader"
		default:
			a.Failure = "connection refused"
		}
		answers = append(answers, a)
	}
	return quorum.Observe(answers)
}
