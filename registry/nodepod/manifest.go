// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/apis/document"
)

// Values are the parameters of a manifest.
type Values struct {
	Revision int
	NodeName string
	NodeIP   string
	// RestartHash of the revision's content.
	RestartHash string
	// Directory is the absolute path of this revision's directory on the node. Its base name is DirectoryName.
	Directory string
	// Permitted is the part of the rollout's StaticPodClass that permits pods. nil permits none.
	Permitted *configv1alpha1.PermittedPod
}

// maxPodBytes bounds the template of a static pod, its manifest, and the text in between. The largest known manifest
// is a tenth of it. Without a bound, an author of the template's ConfigMap could have large texts parsed again and
// again.
const maxPodBytes = 256 << 10

// RenderManifest makes the manifest of a static pod from its template. It replaces the placeholders (see substitute) and
// parses the result strictly. It refuses a pod that cannot be a static pod of this revision, and sets the metadata.
func RenderManifest(template []byte, values Values) ([]byte, error) {
	if err := values.check(); err != nil {
		return nil, err
	}
	if len(template) > maxPodBytes {
		return nil, fmt.Errorf("pod template of %d bytes: the limit is %d", len(template), maxPodBytes)
	}
	text, err := substitute(template, values)
	if err != nil {
		return nil, fmt.Errorf("pod template: %w", err)
	}
	pod, err := ParsePod(text)
	if err != nil {
		return nil, fmt.Errorf("pod template with its placeholders replaced: %w", err)
	}
	if err := errors.Join(checkPod(pod), checkEnv(pod, values), checkVolumes(pod, values.Directory), permits(values.Permitted, pod, values)); err != nil {
		return nil, fmt.Errorf("pod template: %w", err)
	}
	setMetadata(pod, values)
	manifest, err := encode(pod)
	if err == nil && len(manifest) > maxPodBytes {
		err = fmt.Errorf("pod template makes a manifest of %d bytes: the limit is %d", len(manifest), maxPodBytes)
	}
	return manifest, err
}

func (v Values) check() error {
	if v.Revision < 1 {
		return fmt.Errorf("revision %d: want 1 or more", v.Revision)
	}
	if faults := validation.IsDNS1123Subdomain(v.NodeName); len(faults) > 0 {
		return fmt.Errorf("node name %q: %s", v.NodeName, strings.Join(faults, "; "))
	}
	if address, err := netip.ParseAddr(v.NodeIP); err != nil || address.Zone() != "" {
		return fmt.Errorf("node IP %q: want an IPv4 or IPv6 address without a zone", v.NodeIP)
	}
	if v.RestartHash == "" {
		return errors.New("the restart hash is empty")
	}
	if !path.IsAbs(v.Directory) || path.Clean(v.Directory) != v.Directory || !strings.HasSuffix(v.Directory, "-"+strconv.Itoa(v.Revision)) {
		return fmt.Errorf("directory %q: want an absolute path that ends in -%d", v.Directory, v.Revision)
	}
	return nil
}

// ParsePod parses the manifest of a pod: a single YAML document without duplicate keys, aliases or unknown fields.
func ParsePod(text []byte) (*corev1.Pod, error) {
	single, err := singleDocument(text)
	if err != nil {
		return nil, err
	}
	encoded, err := document.ToJSON(single, maxPodBytes)
	if err != nil {
		return nil, fmt.Errorf("read it as YAML: %w", err)
	}
	pod := &corev1.Pod{}
	strict, err := kjson.UnmarshalStrict(encoded, pod)
	if err := errors.Join(append(strict, err)...); err != nil {
		return nil, fmt.Errorf("read it as a Pod: %w", err)
	}
	if pod.APIVersion != "v1" || pod.Kind != "Pod" {
		return nil, fmt.Errorf("apiVersion %q, kind %q: want v1, Pod", pod.APIVersion, pod.Kind)
	}
	return pod, nil
}

// singleDocument returns the only document of text. It refuses a second one, because YAML readers such as kubelet
// silently ignore it. A document of comments does not count.
func singleDocument(text []byte) ([]byte, error) {
	documents, err := document.Split(text, maxPodBytes)
	if err != nil {
		return nil, fmt.Errorf("split it into YAML documents: %w", err)
	}
	documents = slices.DeleteFunc(documents, blank)
	if len(documents) != 1 {
		return nil, fmt.Errorf("%d YAML documents: want one, the Pod", len(documents))
	}
	return documents[0], nil
}

func blank(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

func setMetadata(pod *corev1.Pod, values Values) {
	number := strconv.Itoa(values.Revision)
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels[LabelRevision] = number
	pod.Annotations[AnnotationRevision] = number
	pod.Annotations[AnnotationRestartHash] = values.RestartHash
}

// encode writes the keys in alphabetical order, and no status.
func encode(pod *corev1.Pod) ([]byte, error) {
	full, err := yaml.Marshal(pod)
	if err != nil {
		return nil, fmt.Errorf("encode pod %s: %w", pod.Name, err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(full, &fields); err != nil {
		return nil, fmt.Errorf("encode pod %s: %w", pod.Name, err)
	}
	delete(fields, "status")
	return yaml.Marshal(fields)
}

// containers returns all containers of a pod, in their start order.
func containers(pod *corev1.Pod) []corev1.Container {
	return slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
}
