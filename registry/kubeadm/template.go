// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeadm

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"certrotation.dev/registry/nodepod"
)

func (n node) template(pod *corev1.Pod) (string, error) {
	text, err := yaml.Marshal(pod)
	if err != nil {
		return "", fmt.Errorf("encode pod %s: %w", pod.Name, err)
	}
	var fields map[string]any
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return "", fmt.Errorf("encode pod %s: %w", pod.Name, err)
	}
	delete(fields, "status")
	if text, err = yaml.Marshal(fields); err != nil {
		return "", fmt.Errorf("encode pod %s: %w", pod.Name, err)
	}
	return replaceAddress(string(text), n.address.String(), nodepod.PlaceholderNodeIP), nil
}

// replaceAddress replaces an address unless it is part of a longer one.
func replaceAddress(text, address, by string) string {
	var out strings.Builder
	for before := byte(0); ; {
		at := strings.Index(text, address)
		if at < 0 {
			return out.String() + text
		}
		if at > 0 {
			before = text[at-1]
		}
		end := at + len(address)
		whole := !ofAddress(before) && (end == len(text) || !ofAddress(text[end]) || separates(text, end, address))
		out.WriteString(text[:at])
		if whole {
			out.WriteString(by)
		} else {
			out.WriteString(address)
		}
		before, text = address[len(address)-1], text[end:]
	}
}

func ofAddress(c byte) bool {
	return c == '.' || c == ':' || '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// separates reports whether the colon after an IPv4 address begins a port.
func separates(text string, at int, address string) bool {
	return text[at] == ':' && !strings.Contains(address, ":")
}
