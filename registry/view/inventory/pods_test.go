// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clienttesting "k8s.io/client-go/testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
	"certrotation.dev/test/apifake"
)

// podsConfig is webConfig with clients that are pods.
var podsConfig = strings.Replace(webConfig, "    members: [a, b]\n",
	"    pods: {selector: {matchLabels: {tier: front, app: client}, matchExpressions: [{key: zone, operator: NotIn, values: [b, a]}]}}\n", 1)

const podsSelector = "app=client,tier=front,zone notin (a,b)"

// clientPod returns a running pod that podsConfig chooses.
func clientPod(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: objectMeta(name), Status: corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.1.2.3",
		ContainerStatuses: []corev1.ContainerStatus{containerRuns("web", "c1")},
	}}
	pod.Labels = map[string]string{"app": "client", "tier": "front"}
	return pod
}

func containerRuns(name, id string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, ContainerID: id, State: corev1.ContainerState{
		Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(testTime)},
	}}
}

func containerWaits(name, reason string, restarts int32) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, RestartCount: restarts, State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason},
	}}
}

func TestParsePod(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	type facts struct {
		Life          trust.PodLife
		Process       bool
		Trouble       string
		Address       string
		Ports         map[string]int32
		HasRestarted  bool
		OfHostNetwork bool
	}
	runs := facts{Life: trust.PodRunning, Process: true, Address: "10.1.2.3", HasRestarted: true}
	for name, tt := range map[string]struct {
		edit func(pod *corev1.Pod)
		want func(f *facts)
	}{
		"it runs":          {func(*corev1.Pod) {}, func(*facts) {}},
		"no status at all": {func(pod *corev1.Pod) { pod.Status = corev1.PodStatus{} }, func(f *facts) { *f = facts{Life: trust.PodPending} }},
		"its containers are being made": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0] = containerWaits("web", "ContainerCreating", 0)
		}, func(f *facts) { *f = facts{Life: trust.PodPending, Address: "10.1.2.3"} }},
		"its image cannot be pulled": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0] = containerWaits("web", "ImagePullBackOff", 0)
		}, func(f *facts) {
			*f = facts{Life: trust.PodPending, Address: "10.1.2.3", Trouble: "its container web is in ImagePullBackOff"}
		}},
		"it crashes": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses[0] = containerWaits("web", "CrashLoopBackOff", 3)
		}, func(f *facts) {
			*f = facts{Life: trust.PodRunning, Address: "10.1.2.3", Trouble: "its container web is in CrashLoopBackOff"}
		}},
		"one of two crashes": {func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, containerWaits("log", "CrashLoopBackOff", 3))
		}, func(f *facts) { f.Trouble = "its container log is in CrashLoopBackOff" }},
		"an init container runs": {func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "init"}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{containerRuns("init", "i1")}
			pod.Status.ContainerStatuses[0] = containerWaits("web", "PodInitializing", 0)
		}, func(f *facts) { *f = facts{Life: trust.PodPending, Address: "10.1.2.3"} }},
		"a native sidecar runs": {func(pod *corev1.Pod) {
			pod.Spec.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always}}
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{containerRuns("proxy", "i1")}
			pod.Status.ContainerStatuses[0] = containerWaits("web", "PodInitializing", 0)
		}, func(*facts) {}},
		"it was deleted": {func(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(testTime)) }, func(f *facts) { f.Life = trust.PodTerminating }},
		"it was evicted": {func(pod *corev1.Pod) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}
		}, func(f *facts) { *f = facts{Life: trust.PodEnded} }},
		"it has succeeded": {func(pod *corev1.Pod) {
			pod.Status.Phase = corev1.PodSucceeded
			pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
		}, func(f *facts) { *f = facts{Life: trust.PodEnded, Address: "10.1.2.3"} }},
		"its node is gone": {func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }, func(f *facts) {
			f.Trouble = "its phase is Failed, but its node has not said that its containers have ended"
		}},
		"the network of its node": {func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }, func(f *facts) { f.Address, f.OfHostNetwork = "", true }},
		"no IP":                   {func(pod *corev1.Pod) { pod.Status.PodIP = "" }, func(f *facts) { f.Address = "" }},
		"an IP that is none":      {func(pod *corev1.Pod) { pod.Status.PodIP = "here" }, func(f *facts) { f.Address = "" }},
		"an IP with a zone":       {func(pod *corev1.Pod) { pod.Status.PodIP = "fe80::1%eth0" }, func(f *facts) { f.Address = "" }},
		"IPv6":                    {func(pod *corev1.Pod) { pod.Status.PodIP = "FD00:0::1" }, func(f *facts) { f.Address = "fd00::1" }},
		"IPv4 in IPv6":            {func(pod *corev1.Pod) { pod.Status.PodIP = "::ffff:10.1.2.3" }, func(*facts) {}},
		"ports by their names": {func(pod *corev1.Pod) {
			pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "a", ContainerPort: 1}, {ContainerPort: 2}}}, {Ports: []corev1.ContainerPort{{Name: "b", ContainerPort: 3}}}}
		}, func(f *facts) { f.Ports = map[string]int32{"a": 1, "b": 3} }},
		"a port declared twice": {func(pod *corev1.Pod) {
			pod.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "a", ContainerPort: 1}, {Name: "a", ContainerPort: 2}}}}
		}, func(f *facts) { f.Ports = map[string]int32{"a": 0} }},
	} {
		t.Run(name, func(t *testing.T) {
			pod, want := clientPod("web"), runs
			tt.edit(pod)
			tt.want(&want)
			p := inventory.ParsePod(pod)
			got := facts{
				Life: p.Life.Life(), Process: p.Life.Process != "", Trouble: p.Life.Trouble, Address: p.Address, Ports: p.Ports,
				HasRestarted: !p.RestartedAt.IsZero(), OfHostNetwork: p.HostNetwork,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProcessOfAPod: the process of a pod stays the same while the same containers run.
func TestProcessOfAPod(t *testing.T) {
	process := func(edit func(pod *corev1.Pod)) string {
		pod := clientPod("web")
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, containerRuns("log", "c2"))
		edit(pod)
		return inventory.ParsePod(pod).Life.Process
	}
	same := process(func(*corev1.Pod) {})
	for name, tt := range map[string]struct {
		edit func(pod *corev1.Pod)
		same bool
	}{
		"another order":       {func(pod *corev1.Pod) { slices.Reverse(pod.Status.ContainerStatuses) }, true},
		"another condition":   {func(pod *corev1.Pod) { pod.Status.Message = "x" }, true},
		"a container restart": {func(pod *corev1.Pod) { pod.Status.ContainerStatuses[1].ContainerID = "c3" }, false},
		"a restart count":     {func(pod *corev1.Pod) { pod.Status.ContainerStatuses[1].RestartCount++ }, false},
		"another UID":         {func(pod *corev1.Pod) { pod.UID = "other" }, false},
		"a container ended":   {func(pod *corev1.Pod) { pod.Status.ContainerStatuses = pod.Status.ContainerStatuses[:1] }, false},
	} {
		if got := process(tt.edit); (got == same) != tt.same {
			t.Errorf("%s: process %s, before %s", name, got, same)
		}
	}
}

func FuzzParsePod(f *testing.F) {
	for _, pod := range []*corev1.Pod{{}, clientPod("web")} {
		data, err := json.Marshal(pod)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		pod := &corev1.Pod{}
		if json.Unmarshal(data, pod) != nil {
			return
		}
		p := inventory.ParsePod(pod)
		switch life := p.Life; {
		case life.Ended && life.Process != "", life.Process != "" && !life.Started, life.Life() == trust.PodEnded && !life.Ended,
			p.Address != "" && p.HostNetwork:
			t.Errorf("inconsistent: %+v of %s", p, data)
		}
		if diff := cmp.Diff(p, inventory.ParsePod(pod)); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
	})
}

// podRequests returns the verbs and selectors of all requests for pods.
func podRequests(actions []clienttesting.Action) (out []string) {
	for _, action := range actions {
		if action.GetResource().Resource != "pods" {
			continue
		}
		if list, ok := action.(clienttesting.ListAction); ok {
			out = append(out, "list "+list.GetListRestrictions().Labels.String())
		}
	}
	return out
}

// TestPodsAreReadWhereTheyAreChosen: pods are read only by the selectors of a configuration, and only in its
// namespace.
func TestPodsAreReadWhereTheyAreChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := clientPod("other")
		other.Labels["app"] = "server"
		ended := clientPod("ended")
		ended.Status = corev1.PodStatus{Phase: corev1.PodFailed}
		c := newCluster(t, configuration("config", webConfig), clientPod("web"), other, ended)
		c.run(t)
		if got := podRequests(c.actions()); len(got) > 0 {
			t.Fatalf("pods are read that nobody chooses: %q", got)
		}
		c.put(t, configuration("config", podsConfig))
		synctest.Wait()
		if diff := cmp.Diff([]string{"list " + podsSelector}, podRequests(c.actions())); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		party := c.Namespace(testNamespace).Domain("web").Parties[1]
		if !party.OfPods || party.Unlisted || party.Selector != podsSelector || len(party.Members) != 1 || party.Members[0].Name != "web" || party.Members[0].Instance != "uid-web" {
			t.Errorf("party %+v", party)
		}

		c.taken()
		pod := clientPod("web")
		pod.Status.Message = "of no interest"
		c.put(t, pod)
		synctest.Wait()
		if got := c.taken(); len(got) > 0 {
			t.Errorf("a change that makes no difference announces %q", got)
		}
		pod.Status.ContainerStatuses[0].ContainerID = "c9"
		c.put(t, pod)
		synctest.Wait()
		if got := c.taken(); len(got) != 1 {
			t.Errorf("a restart announces %q", got)
		}
		c.actions()
		s, err := c.Live(t.Context(), testNamespace)
		if err != nil || s.Pods["web"] == nil || !s.Selectors[podsSelector] || len(podRequests(c.actions())) != 1 {
			t.Errorf("Live() = %v, %v", s, err)
		}
		c.drop(t, configuration("config", podsConfig))
		synctest.Wait()
		c.actions()
		time.Sleep(time.Hour) //nolint:forbidigo // the clock of the bubble
		if got := podRequests(c.actions()); len(got) > 0 {
			t.Errorf("pods are read that nobody chooses any more: %q", got)
		}
	})
}

// TestPodsThatMayNotBeRead: the namespace is known without its pods, and the party is marked as unlisted.
func TestPodsThatMayNotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, configuration("config", podsConfig), clientPod("web"))
		c.forbid(func(r *apifake.Request) bool { return r.Resource.Resource == "pods" })
		c.start(t)
		n := c.Namespace(testNamespace)
		if n == nil {
			t.Fatal("pods that may not be read hold the whole namespace up")
		}
		d := n.Domain("web")
		if p := d.Parties[1]; !p.Unlisted || len(p.Members) > 0 {
			t.Errorf("party %+v", p)
		}
		if _, err := c.Live(t.Context(), testNamespace); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "list Pods of namespace demo") {
			t.Errorf("Live() = %v", err)
		}
	})
}
