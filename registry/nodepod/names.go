// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Metadata of a manifest. Its mirror pod shows it.
const (
	// LabelRevision is the revision number, on manifests and installer pods.
	LabelRevision = "revision"
	// AnnotationRevision has the value of LabelRevision.
	AnnotationRevision = "certrotation.dev/revision"
	// AnnotationRestartHash is the RestartHash of the revision.
	AnnotationRestartHash = "certrotation.dev/restart-hash"
)

// Metadata and data of the ConfigMap StatusName(n).
const (
	// AnnotationReady is "true" once all copies of the revision exist, "false" before.
	AnnotationReady = "operator.openshift.io/revision-ready"
	// LabelRollout holds the name of the revision's rollout.
	LabelRollout = "certrotation.dev/rollout"

	StatusKeyContentHash = "contentHash"
	StatusKeyRestartHash = "restartHash"
)

// DefaultPodKey is the key of the pod template in its ConfigMap.
const DefaultPodKey = "pod.yaml"

const (
	statusPrefix    = "revision-status-"
	installedPrefix = "installed.certrotation.dev/"
	// maxAnnotationName is the Kubernetes limit for the part of a key after the slash.
	maxAnnotationName = 63
	// maxObjectName is the Kubernetes limit for the name of a Secret or ConfigMap.
	maxObjectName = 253
)

// CopyName is the name of an object's copy that belongs to revision n.
func CopyName(name string, n int) string {
	return name + "-" + strconv.Itoa(n)
}

// NodeCopyName is the name of an object's copy for revision n that holds only the part one node may see. Its form is
// NAME-N-NODE-nHASH. The hash tells otherwise equal names apart; the letter n keeps it different from every CopyName.
func NodeCopyName(name string, n int, node string) string {
	sum := sha256.New()
	d := digester{sum}
	for _, part := range []string{"certrotation node copy 1", name, strconv.Itoa(n), node} {
		d.bytes([]byte(part))
	}
	suffix := "-n" + hex.EncodeToString(sum.Sum(nil)[:10])
	stem := CopyName(name, n) + "-" + node
	if most := maxObjectName - len(suffix); len(stem) > most {
		stem = strings.TrimRight(stem[:most], "-.")
	}
	return stem + suffix
}

// StatusName is the name of the ConfigMap with the status of revision n.
func StatusName(n int) string {
	return CopyName(strings.TrimSuffix(statusPrefix, "-"), n)
}

// ParseStatusName is the reverse of StatusName. It returns false for any other name.
func ParseStatusName(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, statusPrefix)
	if !ok {
		return 0, false
	}
	return ParseNumber(number)
}

// ParseNumber parses a revision number in its only form: decimal, positive, no sign, no leading zero, at most 32
// bits. So no two names mean the same revision.
func ParseNumber(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return int(n), true
}

// InstalledAnnotation is the annotation on StatusName(n) that records the revision as installed on the node. Its
// value is the UID of the node. A node name that is too long is truncated and made unique by a hash.
func InstalledAnnotation(node string) string {
	if len(node) <= maxAnnotationName {
		return installedPrefix + node
	}
	sum := sha256.Sum256([]byte(node))
	return fmt.Sprintf("%s%s-%s", installedPrefix, node[:maxAnnotationName-17], hex.EncodeToString(sum[:8]))
}

// DirectoryName is the directory on a node for revision n of a rollout.
func DirectoryName(rollout string, n int) string {
	return CopyName(TemplateName(rollout), n)
}

// TemplateName is the name of a rollout's static pod in file and directory names.
func TemplateName(rollout string) string {
	return rollout + "-pod"
}
