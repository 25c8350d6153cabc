// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package staticpod brings numbered revisions of certificates, trust and manifests to the static pods of nodes. It reads
// what is there, asks registry/rollout what is next, and does that. It knows no rule of the rollout; it knows how to cut a
// revision, to run an installer or a pruner on a node, and to say what goes on.
//
// Invariants:
//
//   - Every decision is made on live reads of one look: nodes, pods, revisions, sources, and the quorum if that matters.
//     The watches only say when to look.
//   - The status is written before anything is begun on a node. Every step can be cut off; the next look goes on.
//   - A revision is made of what was read at one moment, and of nothing that is not as its aggregate wants it. Copies are
//     immutable and belong to the ConfigMap of their revision. What is not a copy of ours is neither changed nor deleted.
//   - An installer pod gets the pairs of its own node only, asks the API for nothing, has no token, and is not privileged:
//     the ServiceAccount installer-sa has no rights at all, and no Role is made for it.
//   - When nothing is to be done nothing is written.
//
// The controllers of library-go's static pod operator, as cluster-etcd-operator runs them, and where each is here. All of
// them are one loop: observe in the order below, registry/rollout.Assess, report, act.
//
//	seed                          here
//	NodeController                node.go; order and conditions in registry/rollout
//	RevisionController            revision.go, source.go, usable.go, copies.go; decisions in registry/rollout/source.go
//	InstallerController           installer.go, pod.go; decisions in registry/rollout/install.go, restart.go, order.go
//	InstallerStateController      installerstate.go
//	StaticPodStateController      staticpodstate.go
//	MissingStaticPodController    missingstaticpod.go; decisions in registry/rollout/outcome.go
//	PruneController               prune.go; decisions in registry/rollout/prune.go
//	BackingResourceController     backingresource.go; without the ClusterRoleBinding to cluster-admin
//	GuardController               none: its pods and its PodDisruptionBudget hold back a drain of nodes, which rotates nothing;
//	                              a restart here is held back by the quorum itself
//	StartupMonitor                none: etcd does not use it there either. It puts an older manifest back by itself, and that
//	                              undoes trust; here a timeout is shown, and people or a newer revision decide
//	CertSyncController            none: there are no unrevisioned certificates; leaves are swapped by the installer
//	LoggingController, UnsupportedConfigOverridesController  none: there is no operator resource whose fields they serve
//
//	condition                                  here
//	StaticPodsAvailable                        same
//	NodeInstallerProgressing                   same
//	NodeInstallerDegraded                      same
//	NodeControllerDegraded                     same
//	RevisionControllerDegraded                 same
//	InstallerControllerDegraded                same
//	InstallerPodPendingDegraded                same, after installerTimeout instead of 5 minutes
//	InstallerPodContainerWaitingDegraded       same, likewise
//	InstallerPodNetworkingDegraded             none: installers use the network of the node
//	StaticPodsDegraded                         same; also when a pod is not back within staticPodTimeout
//	MissingStaticPodControllerDegraded         same
//	PruneControllerDegraded                    same
//	BackingResourceControllerDegraded          same
//	GuardControllerDegraded                    none, as the controller
//	StartupMonitorPodDegraded                  none, as the controller
//	StartupMonitorPodContainerExcessiveRestartsDegraded  none, as the controller
//	StaticPodFallbackRevisionDegraded          none: nothing falls back
//
//	event                         here
//	MasterNodeObserved            same
//	MasterNodeRemoved             same
//	MasterNodesReadyChanged       same
//	StartingNewRevision           same
//	RevisionTriggered             same
//	NodeTargetRevisionChanged     same
//	NodeCurrentRevisionChanged    same
//	InstallerPodFailed            same
//	InstallerPodDisappeared       same
//	RequiredInstallerResourcesMissing  same
//	MissingStaticPod              same
//	OperatorStatusChanged         same
//	StaticPodInstallerCompleted   none: an installer has no API access; its end is NodeCurrentRevisionChanged
//	StaticPodInstallerFailed      none: InstallerPodFailed has the message with which it ended
//	MissingVersion                none: there is no operand version to report
//	MultipleVersions              none: likewise
//	CertificateUpdated            none, as CertSyncController
//	CertificateUpdateFailed       none, as CertSyncController
//	CertificateRemoved            none, as CertSyncController
//
//	metric                        here
//	openshift_etcd_operator_signer_expiration_days  controller/rotation
//	etcd's own metrics            none: they are read from etcd
//
// Of our own there are the event RolloutBlocked and the metrics certrotation_rollout_latest_revision, current_revision,
// pending_seconds, blockers, blocked_seconds, condition, installer_attempts_total, installer_failures_total,
// restarts_initiated_total and writes_total.
//
// Events are on the ConfigMap of the aggregate, which a BundleStatus stands for. Conditions are in the ConfigMap
// NAME-rollout; registry/rollout.Decode reads it. To have a revision installed on a node again, delete its installer pods
// of that node, and remove the annotation of the node from the ConfigMap of the revision.
//
// Goroutines: Run starts the workers and the watches and ends when they have ended. A worker owns a namespace while it
// works on it. NamespaceChanged may be called from anywhere at any time.
package staticpod
