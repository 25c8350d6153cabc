// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeadm

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// commandLine is the command line of a container, which kubeadm writes as --flag=value.
type commandLine struct{ container *corev1.Container }

// container returns the command line of the container that has the name of its pod.
func container(pod *corev1.Pod, name string) (commandLine, error) {
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if pod.Name != name || at < 0 {
		return commandLine{}, fmt.Errorf("the pod is %s and has no container %s: want the manifest that kubeadm has written", pod.Name, name)
	}
	return commandLine{container: &pod.Spec.Containers[at]}, nil
}

func (c commandLine) value(flag string) (string, error) {
	for _, word := range c.container.Command {
		if value, ok := strings.CutPrefix(word, "--"+flag+"="); ok {
			return value, nil
		}
	}
	return "", fmt.Errorf("there is no --%s=...: want the manifest that kubeadm has written for an etcd of its own", flag)
}

// replace changes the values of existing flags; a missing flag is an error.
func (c commandLine) replace(values map[string]string) error {
	for flag, value := range values {
		if _, err := c.value(flag); err != nil {
			return err
		}
		for i, word := range c.container.Command {
			if strings.HasPrefix(word, "--"+flag+"=") {
				c.container.Command[i] = "--" + flag + "=" + value
			}
		}
	}
	return nil
}

func (c commandLine) set(flag, value string) {
	c.container.Command = slices.DeleteFunc(c.container.Command, func(word string) bool { return strings.HasPrefix(word, "--"+flag+"=") })
	c.container.Command = append(c.container.Command, "--"+flag+"="+value)
}
