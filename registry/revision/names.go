// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Metadata of a manifest, which its mirror pod shows.
const (
	// LabelRevision is the number of the revision whose manifest this is, on manifests and on installer pods.
	LabelRevision = "revision"
	// AnnotationRevision says the same as LabelRevision.
	AnnotationRevision = "certrotation.dev/revision"
	// AnnotationRestartHash is the RestartHash of the revision.
	AnnotationRestartHash = "certrotation.dev/restart-hash"
)

// Metadata and data of the ConfigMap StatusName(n).
const (
	// AnnotationReady is "true" once all copies of the revision exist, "false" before.
	AnnotationReady = "operator.openshift.io/revision-ready"
	// LabelRollout holds the name of the rollout that the revision belongs to.
	LabelRollout = "certrotation.dev/rollout"

	StatusKeyContentHash = "contentHash"
	StatusKeyRestartHash = "restartHash"
)

// DefaultPodKey is the key of the pod template in its ConfigMap.
const DefaultPodKey = "pod.yaml"

const (
	statusPrefix    = "revision-status-"
	installedPrefix = "installed.certrotation.dev/"
	// maxAnnotationName is what Kubernetes admits after the slash.
	maxAnnotationName = 63
	// maxObjectName is what Kubernetes admits as the name of a Secret or ConfigMap.
	maxObjectName = 253
)

// CopyName is the name of the copy of an object that belongs to revision n.
func CopyName(name string, n int) string {
	return name + "-" + strconv.Itoa(n)
}

// NodeCopyName is the name of the copy of an object that belongs to revision n and to one node: it has what that node may
// see. It reads as NAME-N-NODE; the hash at its end tells names apart that read alike, and its letter keeps it from being
// the CopyName of anything.
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

// StatusName is the name of the ConfigMap that stands for revision n.
func StatusName(n int) string {
	return CopyName(strings.TrimSuffix(statusPrefix, "-"), n)
}

// ParseStatusName is the reverse of StatusName; false if name was not made by it.
func ParseStatusName(name string) (int, bool) {
	number, ok := strings.CutPrefix(name, statusPrefix)
	if !ok {
		return 0, false
	}
	return ParseNumber(number)
}

// ParseNumber reads a revision number in the only form in which this package writes it: decimal, positive, no sign, no
// leading zero, at most 32 bits. Two names never mean the same revision.
func ParseNumber(text string) (int, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return int(n), true
}

// InstalledAnnotation is the key of the annotation on StatusName(n) which says that the revision is on the node. Its value
// is the UID of the node. A node name that is too long for an annotation is cut, and told from others by a hash.
func InstalledAnnotation(node string) string {
	if len(node) <= maxAnnotationName {
		return installedPrefix + node
	}
	sum := sha256.Sum256([]byte(node))
	return fmt.Sprintf("%s%s-%s", installedPrefix, node[:maxAnnotationName-17], hex.EncodeToString(sum[:8]))
}

// DirectoryName is the name of the directory on a node that belongs to the manifest of revision n of a rollout.
func DirectoryName(rollout string, n int) string {
	return CopyName(PodName(rollout), n)
}

// PodName is the name of a rollout's static pod in names of files and directories.
func PodName(rollout string) string {
	return rollout + "-pod"
}
