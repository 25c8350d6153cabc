// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

func checkPod(pod *corev1.Pod) error {
	var faults []error
	if pod.Name == "" {
		faults = append(faults, errors.New("metadata.name is empty"))
	}
	if pod.GenerateName != "" {
		faults = append(faults, errors.New("metadata.generateName is set: a static pod has a name"))
	}
	if len(pod.Spec.Containers) == 0 {
		faults = append(faults, errors.New("spec.containers is empty"))
	}
	return errors.Join(faults...)
}

// checkEnv refuses a variable whose name is a placeholder: the name was replaced by a value, which breaks references
// to it.
func checkEnv(pod *corev1.Pod, values Values) error {
	names := map[string]string{
		strconv.Itoa(values.Revision): PlaceholderRevision,
		values.NodeName:               PlaceholderNodeName,
		values.NodeIP:                 PlaceholderNodeIP,
	}
	for _, container := range containers(pod) {
		for _, variable := range container.Env {
			if placeholder, ok := names[variable.Name]; ok {
				return fmt.Errorf("container %s has an environment variable %s, which is a placeholder: give it another name", container.Name, placeholder)
			}
		}
	}
	return nil
}

// checkVolumes requires a mount of the whole directory. A mount of a path below it, such as a subPath, is resolved
// when a container starts and does not follow the pointer later.
func checkVolumes(pod *corev1.Pod, directory string) error {
	volume := ""
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.HostPath == nil {
			continue
		}
		mounted := path.Clean(v.HostPath.Path)
		if mounted == directory {
			volume = v.Name
			continue
		}
		if err := checkOther(mounted, directory); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	if volume == "" {
		return fmt.Errorf("no volume is a hostPath of %s: the pod has to mount the directory of its revision (…-%s)", directory, PlaceholderRevision)
	}
	return checkMounts(pod, volume)
}

// checkOther refuses paths within the directory, and directories of other revisions.
func checkOther(mounted, directory string) error {
	if strings.HasPrefix(mounted, directory+"/") {
		return fmt.Errorf("hostPath %s does not follow the pointer in %s: mount the directory itself", mounted, directory)
	}
	stem := directory[:strings.LastIndexByte(directory, '-')+1]
	rest, ok := strings.CutPrefix(mounted, stem)
	if !ok {
		return nil
	}
	number, _, _ := strings.Cut(rest, "/")
	if _, err := strconv.Atoi(number); err == nil || number == PlaceholderRevision {
		return fmt.Errorf("hostPath %s belongs to another revision: write %s%s", mounted, stem, PlaceholderRevision)
	}
	return nil
}

func checkMounts(pod *corev1.Pod, volume string) error {
	mounts := 0
	for _, container := range containers(pod) {
		for _, mount := range container.VolumeMounts {
			if mount.Name != volume {
				continue
			}
			mounts++
			if mount.SubPath != "" || mount.SubPathExpr != "" {
				return fmt.Errorf("container %s mounts a subPath of volume %s, which does not follow the pointer: mount the volume itself", container.Name, volume)
			}
		}
	}
	if mounts == 0 {
		return fmt.Errorf("no container mounts volume %s, the directory of its revision", volume)
	}
	return nil
}
