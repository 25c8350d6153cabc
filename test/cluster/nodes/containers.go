// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Container is a running container of a pod on a node.
type Container struct {
	// ID is containerd's id. It changes with each start.
	ID string
	// Pid is the container's first process in the node's PID namespace.
	Pid string
}

// RunningContainer returns the running container of a pod. The name of a static pod ends with the node's name, as in
// the API.
func (n *Node) RunningContainer(ctx context.Context, pod, container string) (Container, error) {
	filter := fmt.Sprintf(`labels."io.kubernetes.pod.name"==%s,labels."io.kubernetes.container.name"==%s`, pod, container)
	ids, err := n.Exec(ctx, "ctr", "--namespace=k8s.io", "containers", "list", "--quiet", filter)
	if err != nil {
		return Container{}, err
	}
	tasks, err := n.Exec(ctx, "ctr", "--namespace=k8s.io", "tasks", "list")
	if err != nil {
		return Container{}, err
	}
	for line := range strings.Lines(tasks) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == "RUNNING" && strings.Contains(ids, f[0]) {
			return Container{ID: f[0], Pid: f[1]}, nil
		}
	}
	return Container{}, fmt.Errorf("no container %s of pod %s runs on node %s", container, pod, n.name)
}

// WaitContainer waits until a container of the pod runs whose id is not before ("" for any).
func (n *Node) WaitContainer(ctx context.Context, pod, container, before string) (Container, error) {
	var found Container
	var last error
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		found, last = n.RunningContainer(ctx, pod, container)
		return last == nil && found.ID != before, nil
	})
	if err != nil {
		return Container{}, fmt.Errorf("wait for container %s of pod %s: %w (last: %v %w)\nthe kubelet's log is %s",
			container, pod, err, found, last, n.LogFile("kubelet"))
	}
	return found, nil
}

// KillContainer sends SIGKILL to the container's processes; kubelet starts a new container.
func (n *Node) KillContainer(ctx context.Context, pod, container string) error {
	c, err := n.RunningContainer(ctx, pod, container)
	if err != nil {
		return err
	}
	_, err = n.Exec(ctx, "ctr", "--namespace=k8s.io", "tasks", "kill", "--all", "--signal=SIGKILL", c.ID)
	return err
}

// ContainerLogs returns the output of the pod's newest container.
func (n *Node) ContainerLogs(pod, container string) (string, error) {
	files, err := filepath.Glob(n.Path(fmt.Sprintf("/var/log/pods/*_%s_*/%s/*.log", pod, container)))
	if err != nil {
		return "", err
	}
	var newest string
	var at time.Time
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(at) {
			newest, at = file, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("container %s of pod %s has no log on node %s", container, pod, n.name)
	}
	file, err := os.Open(newest)
	if err != nil {
		return "", err
	}
	defer file.Close()
	var text strings.Builder
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// TIME STREAM F|P TEXT, the log format of the container runtime interface.
		if f := strings.SplitN(lines.Text(), " ", 4); len(f) == 4 {
			text.WriteString(f[3])
			if f[2] != "P" {
				text.WriteByte('\n')
			}
		}
	}
	return text.String(), lines.Err()
}
