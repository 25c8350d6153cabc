// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// seeds are the conditions, events and controllers that the seeds and library-go name, each of which the table has to have.
var seeds = []string{
	"NodeController", "RevisionController", "InstallerController", "InstallerStateController", "StaticPodStateController",
	"MissingStaticPodController", "PruneController", "BackingResourceController", "GuardController", "StartupMonitor", "CertSyncController",
	"StaticPodsAvailable", "NodeInstallerProgressing", "NodeInstallerDegraded", "NodeControllerDegraded", "RevisionControllerDegraded",
	"InstallerControllerDegraded", "InstallerPodPendingDegraded", "InstallerPodContainerWaitingDegraded", "InstallerPodNetworkingDegraded",
	"StaticPodsDegraded", "MissingStaticPodControllerDegraded", "BackingResourceControllerDegraded", "GuardControllerDegraded",
	"NodeTargetRevisionChanged", "NodeCurrentRevisionChanged", "InstallerPodFailed", "InstallerPodDisappeared", "RevisionTriggered",
	"StartingNewRevision", "RequiredInstallerResourcesMissing", "MasterNodeObserved", "MasterNodeRemoved", "MasterNodesReadyChanged",
	"MissingStaticPod", "MissingVersion", "MultipleVersions", "StaticPodInstallerCompleted", "StaticPodInstallerFailed",
	"CertificateUpdated", "CertificateUpdateFailed", "CertificateRemoved", "openshift_etcd_operator_signer_expiration_days",
	"EtcdCertSignerController", "CertRotationController", "EtcdCertCleanerController", "ResourceSyncController", "TargetConfigController",
	"EtcdEndpointsController", "EtcdMembersController", "ClusterMemberController", "ClusterMemberRemovalController",
	"BootstrapTeardownController", "EnvVarController", "ScriptController", "quorum", "installer", "prune", "render", "readyz",
	"EtcdCertSignerControllerDegraded", "ResourceSyncControllerDegraded", "EtcdMembersDegraded", "EtcdEndpointsDegraded",
	"TargetConfigControllerDegraded", "EtcdRunningInCluster", "EtcdBootstrapMemberRemoved", "StartupMonitorPodDegraded",
	"StartupMonitorPodContainerExcessiveRestartsDegraded", "StaticPodFallbackRevisionDegraded", "PruneControllerDegraded",
	"SignerUpdateRequired", "TargetUpdateRequired", "CABundleUpdateRequired", "RotationError", "EtcdCertSignerControllerUpdatingStatus",
	"SecretCreated", "SecretUpdated", "SecretCreateFailed", "SecretUpdateFailed", "etcdSignerCAExpirationWarning", "etcdSignerCAExpirationCritical",
	"openshift.io/ceo-bundle-rollout-revision", "openshift.io/ceo-delete-grace-start", "operator.openshift.io/revision-ready",
}

// TestTableOfTheSeeds holds the table in doc.go to the tree: what it says is the same here is in the code, the files that
// it names exist, and nothing of the seeds is left out.
func TestTableOfTheSeeds(t *testing.T) {
	doc := read(t, "doc.go")
	code := sources(t, ".", "../../../registry/rollout")
	rows := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^//\t([^\s,]+(?:, [^\s,]+)*) +(\S.*)$`).FindAllStringSubmatch(doc, -1) {
		for name := range strings.SplitSeq(match[1], ", ") {
			rows[name] = match[2]
		}
	}
	for _, name := range seeds {
		if rows[name] == "" {
			t.Errorf("doc.go says nothing of %s", name)
		}
	}
	for name, where := range rows {
		in := code
		if directory, elsewhere := strings.CutPrefix(where, "same, in "); elsewhere {
			in = sources(t, filepath.Join("../../..", directory))
		}
		if strings.HasPrefix(where, "same") && !strings.Contains(in, `"`+name+`"`) {
			t.Errorf("doc.go says that %s is the same here, but no code has it", name)
		}
		for _, directory := range regexp.MustCompile(`\b(?:cmd|controller|registry|manifests)(?:/[\w-]+)+\b`).FindAllString(where, -1) {
			if at := filepath.Join("../../..", directory); !exists(at) && !exists(at+".go") {
				t.Errorf("doc.go names %s for %s, which does not exist", directory, name)
			}
		}
		for _, file := range regexp.MustCompile(`[\w/]+\.go`).FindAllString(where, -1) {
			if !exists(file) && !exists(filepath.Join("../../..", file)) && !exists(filepath.Join("../../../registry/rollout", file)) {
				t.Errorf("doc.go names %s for %s, which does not exist", file, name)
			}
		}
	}
	_, ours, _ := strings.Cut(doc, "Of our own")
	for _, name := range regexp.MustCompile(`(?:certrotation_rollout_)?(\w+_(?:total|seconds|revision))`).FindAllStringSubmatch(ours, -1) {
		if short := strings.TrimPrefix(name[1], "certrotation_rollout_"); !strings.Contains(code, `"`+short+`"`) {
			t.Errorf("doc.go names the metric %s, which no code has", short)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sources(t *testing.T, directories ...string) string {
	t.Helper()
	var out strings.Builder
	for _, directory := range directories {
		files, err := filepath.Glob(filepath.Join(directory, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && filepath.Base(file) != "doc.go" {
				out.WriteString(read(t, file))
			}
		}
	}
	return out.String()
}
