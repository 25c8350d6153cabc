// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Package holes tells, one test for each, the stories in which certificate rotations of the past took a system down, and
// shows what this one does instead. The name of the hole is the name of the test.
//
// A story runs the real controller (controller/rotation) over an API server in memory, with real keys, beside processes
// that trust and present what they have loaded and nothing else. After every write and every step crypto/x509 says
// whether everybody who verifies a leaf accepts it, by a clock that is right and by one that is two minutes slow, and
// whether a process that starts now would. Edits by people are put to trust.Judge as the webhook does, and then often
// made all the same, as if the webhook were not there.
//
// What a process reports is good for an hour. While a rotation is in flight it repeats what it said last before that is
// over, as its reporter does, and so a story that lasts longer has a blocker for who lags and for nobody else.
//
// Each story is told again with rules of the system that had the hole (or with a plain mistake) in the place of one of
// ours, and must then fail for the reason that the hole is about. A story without such broken rules is no test.
//
// The table has every hole of the registers H (OpenShift's etcd), G (Gardener) and K (Kyma), and the scenarios T. Behind an
// identifier are the tests that show it, of this package or, with its directory, of another; or, where none does, what is
// open. What happens on nodes is shown by the tests of the rollout, and by test/e2e/etcd on real ones, which needs root.
// TestTable holds it to that.
//
//	H1   TestH1_EmptyTrustWrittenOnConflict
//	H2   TestH2_NilDereferenceOnConflict
//	H3   TestH3_NodeJoinsDuringPhase1, controller/rollout/staticpod TestNodeJoins, test/e2e/etcd TestNodeJoinsDuringARotation
//	H4   TestH4_LossOfTheGateObject
//	H5   TestH5_BundleDeletedBetweenPhases, test/e2e/etcd TestDeletedBundleIsRebuilt
//	H6   TestH6_GateWaitsForEveryClient, test/cluster/supervisor TestRotation, controller/copies TestCopiesFollowARotation
//	H7   TestH7_GateByNumber, controller/evidence TestPlaced, controller/rollout/staticpod TestRevisionWaitsForTheAggregate
//	H8   controller/rollout/generation TestRollback, controller/rollout/staticpod TestRolledBackManifest, controller/rollout/generation TestInstallRefuses
//	H9   controller/rollout/generation TestPowerLoss, test/e2e/etcd TestPowerLossInTheInstaller
//	H10  TestH10_NothingWaitsSilently, controller/rollout/staticpod TestRevisionThatDoesNotWork, controller/rollout/staticpod TestInstallerFails
//	H11  TestH11_AnnotationsDecideNothing
//	H12  TestH12_AllLeavesAtOnce
//	H13  TestH13_ClocksThatAreWrong
//	H14  TestH14_SignerLostAgainDuringPhase1
//	H15  TestH15_NamesThatCollide, registry/orphan TestNoLivingNodeLosesAnything, registry/orphan TestNodeOf
//	H16  TestH16_NodeWithoutAddress
//	H17  test/e2e/etcd TestLeafRotationRestartsNobody, controller/rollout/generation TestInstallDecides
//	H18  TestH18_OldCALeaves, test/e2e/etcd TestSignerRotation
//	H19  TestH19_LeafIsNoMoreThanALeaf
//	H20  TestH20_SignerComesBackFromABackup, TestKeyOfRecoveredMembersStays
//	H21  controller/etcdhealth TestMemberIsAlone, controller/etcdhealth TestMembersThatHaveLostEachOther, registry/quorum TestRejoined, test/e2e/etcd TestRotationHoldsForADisturbedMember
//	H22  registry/quorum TestNeverWithoutAQuorumOfTheOthers, controller/etcdhealth TestNoAnswerIsOlderThanItsQuestion, registry/rollout TestQuorumIsAskedOnlyIfItMatters, controller/rollout/staticpod TestHoldsOnADegradedCluster
//	H23  TestH23_PartialProgress, controller/rollout/staticpod TestCrashAfterEachWrite
//	H24  TestH24_RestCostsNothing
//
//	G1   TestG1_ReissueAndDropInOnePass
//	G2   TestG2_SuccessIsNoEvidence
//	G3   TestG3_ManyOldCAs
//	G4   TestG4_OldIsNotByCreationTime
//	G5   TestG5_ExpiredCASignsNothing
//	G6   TestG6_ShortLivedLeaves
//	G7   TestG7_LeafWithinItsSigner
//	G8   TestG8_EveryKeyAlgorithm
//	G9   TestG9_CleanupIsGuarded
//	G10  controller/rotation TestRunWorksAndEnds, controller/rotation TestBlockedIsSaidOnce, test/e2e TestAlertsUseMetricsThatExist
//	G11  controller/rotation TestForeignContentStays
//	G12  TestG12_AbortGivesBackWhatWas
//	G13  TestG13_UnitsOfValidity
//
//	K1   TestK1_CAKeyIsNoServerKey
//	K2   TestK2_PublishedBeforeUse
//	K3   TestK3_TimestampsOfTwoClocks
//	K4   TestK4_SecondRotationWithinGrace
//	K5   TestK5_SwitchAlthoughClientsAreOverdue
//	K6   TestK6_RemoteCopyIsVerified
//	K7   TestK7_StuckFirstIssuance
//	K8   TestK8_CompromisedCA
//	K9   TestK9_OneBadPEM
//	K10  TestK10_NoWriteWithoutChange
//	K11  TestK11_StateInOneAnnotation
//	K12  TestK12_EachDirectionByItself
//	K13  TestK13_NoWayBack
//	K14  TestK14_WhereARotationStands
//	K15  test/e2e TestAlertsUseMetricsThatExist, test/e2e TestDeploymentUsesFlagsThatExist
//
//	T1   TestT1_EveryLeafUnderEveryBundle
//	T2   test/e2e TestRotationUnderTraffic, test/e2e/etcd TestSignerRotation
//	T3   TestK5_SwitchAlthoughClientsAreOverdue, test/e2e TestRotationHoldsForAClientThatDoesNotReload, test/e2e/etcd TestRotationHoldsForADisturbedMember
//	T4   TestT4_MemberLeavesMidRotation
//	T5   TestH3_NodeJoinsDuringPhase1, test/e2e/etcd TestNodeJoinsDuringARotation
//	T6   TestT6_SecondStartInFlight
//	T7   TestG12_AbortGivesBackWhatWas, TestK13_NoWayBack
//	T8   TestT8_ControllerDownForAMonth
//	T9   TestK3_TimestampsOfTwoClocks, TestH13_ClocksThatAreWrong
//	T10  TestT10_IssuedInTheSecondOfTheChange
//	T11  TestT11_SignerReplacedInOneWrite
//	T12  TestT12_AnchorRemovedByHand
//	T13  TestK9_OneBadPEM
//	T14  registry/pki TestParseCertificateFromHell, registry/pki TestParseBundle, registry/trust TestTrustByObservation
//	T15  TestG4_OldIsNotByCreationTime
//	T16  TestG5_ExpiredCASignsNothing, TestG7_LeafWithinItsSigner
//	T17  TestK8_CompromisedCA
//	T18  TestG7_LeafWithinItsSigner
//	T19  TestG9_CleanupIsGuarded, admission TestNamespaceDeletionIsNeverBlocked
//	T20  open: a denial names the safe way, but there is no override that works once, is logged and expires
//	T21  controller/selfcert TestRunFollowsTheSigner, test/e2e TestRotationOfItsOwnCA
//	T22  TestT22_TimeIsALowerBound
//	T23  TestT23_LeavesThatNoSecretHolds
//	T24  cmd/certrotation/app/signcsr TestRefusals, registry/csr TestOnlyListedNames
//	T25  cmd/certrotation/app/signcsr TestClientGo, cmd/certrotation/app/signcsr TestRefusals
//	T26  TestH6_GateWaitsForEveryClient, TestK12_EachDirectionByItself
//	T27  TestT27_TwoDomainsAtOnce
//	T28  TestT28_BundleMissingAtStart
//	T29  TestH12_AllLeavesAtOnce, TestK10_NoWriteWithoutChange
//	T30  TestT30_ThePlanIsWhatIsDone
//	T31  controller/rotation TestEveryWriteFails, test/integration TestEveryWrite
//	T32  test/e2e TestReaderSeesEverythingAndMayNothing, registry/certificaterotation TestVerbs
//	T33  TestT33_APIServerDown, admission TestStaleView
//	T34  TestT34_OrderIsNoContent, registry/record TestNamesAreInjective
//	T35  controller/rotation TestRunWorksAndEnds, test/e2e TestAlertsUseMetricsThatExist
package holes
