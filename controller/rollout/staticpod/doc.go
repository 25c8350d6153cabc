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
//   - An installer pod refers to the pairs of its own node only, in a Secret NAME-REVISION-NODE of that node, so that the Node
//     authorizer lets no kubelet read those of another one. It asks the API for nothing, has no token, and is not privileged:
//     the ServiceAccount installer-sa has no rights at all, and no Role is made for it.
//   - What runs on a node is what a StaticPodClass permits: its image, its directories, and the shape of the pod, judged before
//     a revision is cut and again by the installer. Without a class nothing is begun, and no source is read.
//   - What an installer gets is what the revision recorded: the copies are proven before, and the installer compares the hash.
//   - When nothing is to be done nothing is written.
//
// It stands for cluster-etcd-operator and the static pod operator of library-go that it runs. Where each of their parts is
// here: the controllers of the static pod are one loop in this package (observe in the order below,
// registry/rollout.Assess, report, act); those of the certificates and of the copies are other packages.
//
//	there                         here
//	NodeController                node.go; order and conditions in registry/rollout
//	RevisionController            revision.go, source.go, usable.go, copies.go; decisions in registry/rollout/source.go
//	InstallerController           installer.go, pod.go; decisions in registry/rollout/install.go, restart.go, order.go
//	InstallerStateController      installer.go
//	StaticPodStateController      staticpodstate.go
//	MissingStaticPodController    staticpodstate.go; decisions in registry/rollout/outcome.go
//	PruneController               prune.go; decisions in registry/rollout/prune.go
//	BackingResourceController     installer.go; without the ClusterRoleBinding to cluster-admin
//	installer, prune              cmd/certrotation/app/installer, cmd/certrotation/app/prune, controller/rollout/generation: one directory
//	                              and one pointer for trust and leaves, from the revision and never from the live objects
//	quorum                        registry/quorum, controller/etcdhealth: the check that holds back revisions there also holds back each
//	                              restart here, is never cached, and is made while a rollout is under way
//	EtcdCertSignerController      controller/rotation, controller/evidence; decisions in registry/trust. Its gate is a revision number in
//	                              an annotation; here a leaf moves when everybody who verifies it has been seen to trust its CA
//	CertRotationController        none: cluster-etcd-operator does not use it there either; its three steps are in controller/rotation
//	EtcdCertCleanerController     controller/cleaner; decisions in registry/orphan, by exact names instead of prefixes and suffixes
//	ResourceSyncController        controller/copies; decisions in registry/trust, so that a copy does not outrun the protocol
//	TargetConfigController        none: the pod template is a ConfigMap that belongs to whoever runs etcd, and is revisioned as it is; to
//	                              force a revision (forceRedeploymentReason there) change an annotation of the pod in it
//	EtcdEndpointsController       none: no list of endpoints is revisioned, so a change of the membership restarts nobody; the members
//	                              are asked for their list (controller/etcdhealth)
//	EtcdMembersController         none: the health of the members is what controller/etcdhealth says, as metrics and as a blocker
//	ClusterMemberController, ClusterMemberRemovalController, BootstrapTeardownController  none: who adds a node adds its
//	                              member, as a learner that is promoted once it runs; a node that joins gets its leaves at once, and
//	                              its revision in its turn
//	EnvVarController, ScriptController  none: they write scripts and settings of etcd's pod, which the template has
//	DefragController, FSyncController, MachineDeletionHooksController  none: they look after etcd's data and machines, not after certificates
//	PeriodicBackupController, BackupController, BackupRemovalController  none: a backup of etcd is no part of a rotation; what one brings
//	                              back is judged by its content, and certrotation recover reads the signers of one
//	GuardController               none: its pods and its PodDisruptionBudget hold back a drain of nodes, which rotates nothing;
//	                              a restart here is held back by the quorum itself
//	StartupMonitor                none: etcd does not use it there either. It puts an older manifest back by itself, and that
//	                              undoes trust; here a timeout is shown, and people or a newer revision decide
//	CertSyncController            none: there are no unrevisioned certificates; leaves are swapped by the installer
//	LoggingController, UnsupportedConfigOverridesController  none: there is no operator resource whose fields they serve
//	StaticResourcesController, ClusterOperatorStatusController  none: the manifests are applied by people; there is no ClusterOperator
//	render                        cmd/certrotation/app/render, controller/bootstrap
//	readyz                        none: etcd's own /readyz reads linearizably (manifests/samples/etcd-nodes)
//	cluster-restore.sh            cmd/certrotation/app/doctor, cmd/certrotation/app/recover, for certificates only; a lost quorum is etcd's own matter
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
//	EtcdCertSignerControllerDegraded           none: the conditions Degraded (an object is broken) and Blocked (a rotation waits, and for whom)
//	                                           of every CertificateRotation and BundleStatus
//	ResourceSyncControllerDegraded             none: the event CopyHeld and the metric certrotation_copies_held, in controller/copies
//	EtcdMembersAvailable, EtcdMembersDegraded, EtcdMembersProgressing  none, as EtcdMembersController
//	EtcdEndpointsDegraded, TargetConfigControllerDegraded  none, as the controllers
//	EtcdRunningInCluster, EtcdBootstrapMemberRemoved  none, as BootstrapTeardownController
//	GuardControllerDegraded                    none, as the controller
//	StartupMonitorPodDegraded                  none, as the controller
//	StartupMonitorPodContainerExcessiveRestartsDegraded  none, as the controller
//	StaticPodFallbackRevisionDegraded          none: nothing falls back
//
//	event                         here
//	SignerUpdateRequired          same, in controller/rotation
//	TargetUpdateRequired          same, in controller/rotation
//	CABundleUpdateRequired        same, in controller/rotation
//	RotationError                 none: ObjectProblem and RotationBlocked, in controller/rotation, say what is wrong and for whom it waits
//	EtcdCertSignerControllerUpdatingStatus  none: conditions of certificates are computed and not written
//	SecretCreated, SecretUpdated, SecretCreateFailed, SecretUpdateFailed  none: each write is announced by what it is for, and a
//	                              failed one is in the log and in the metric certrotation_actions_total
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
//	metric or alert               here
//	openshift_etcd_operator_signer_expiration_days  same, in controller/rotation
//	etcdSignerCAExpirationWarning, etcdSignerCAExpirationCritical  none: both are about healthy signers too. The alerts
//	                              CertRotationRenewalOverdue and CertRotationCertificateExpiresSoon are not (manifests/alerts)
//	etcd's own metrics            none: they are read from etcd
//
//	annotation                    here
//	operator.openshift.io/revision-ready  same, in registry/revision
//	openshift.io/ceo-bundle-rollout-revision  none: nothing decides by it; registry/trust refuses that it is lowered while a rotation is in flight
//	openshift.io/ceo-delete-grace-start  same, in registry/trust
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
