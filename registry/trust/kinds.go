// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import "fmt"

// EvidenceKind is how a member proves that it has loaded an anchor.
type EvidenceKind string

// Evidence kinds; docs/protocol.md says what each proves.
const (
	TLSProbe          EvidenceKind = "tlsProbe"
	Acknowledgement   EvidenceKind = "acknowledgement"
	GracePeriod       EvidenceKind = "gracePeriod"
	Renewed           EvidenceKind = "renewed"
	StaticPodRevision EvidenceKind = "staticPodRevision"
	WorkloadRollout   EvidenceKind = "workloadRollout"
	Mounted           EvidenceKind = "mounted"
	CABundle          EvidenceKind = "caBundle"
	None              EvidenceKind = "none"
)

// basis is what evidence rests on.
type basis int

const (
	// onObservation: what each process was observed, or has reported, to have loaded. It ends with its lease and with
	// the process.
	onObservation basis = iota
	// onTime: a grace period after the publication.
	onTime
	// onRenewal: leaves that were renewed some time ago. Who loads a leaf has loaded the bundle.
	onRenewal
	// onStatement: the operator's reason.
	onStatement
)

// traits are what the model knows of a kind of evidence. All rules ask for traits, and none for a kind.
type traits struct {
	basis basis
	// reported: members report it themselves. Other observations are the controller's.
	reported bool
	// handshake: it is what servers accept and present at their addresses. It is complete only for the CAs that were
	// tried, and does not tell CAs of one key apart.
	handshake bool
	// atStart: it is what a process started with, by its pod. The process may read other files.
	atStart bool
	// perNode: it is of the static pods of a node.
	perNode bool
	// inVolumes: it is read in the volumes of Party.Mounts.
	inVolumes bool
	// byRestart: pods load what is published by a restart of their workload (Party.Workloads).
	byRestart bool
	// whole: nothing new reaches a member while a leaf that it holds does not exist: no pod or revision starts
	// without it.
	whole bool
	// ofTargets: members are objects with a caBundle. kube-apiserver verifies by one some time after its write.
	ofTargets bool
	// behind and stale are the next steps for a member that lacks an anchor, or presents an older leaf.
	behind, stale string
	// never is what is said of a member without observations, lapsed of one whose last observation ended at a time.
	never, lapsed string
	// assumes says, as a clause of a plan, what is assumed of a party, nil if nothing is.
	assumes func(*Party) string
}

const (
	reload      = "make it reload its trust bundle, or restart it"
	reloadLeaf  = "make it reload its leaf"
	rolledOut   = "its rollout has not brought the bundle there yet"
	leafArrives = "its rollout has not brought the leaf there yet"
	notObserved = "has not been observed yet"
	lastSeen    = "has not been observed since %s"
)

var kinds = map[EvidenceKind]traits{
	TLSProbe: {handshake: true, behind: reload, stale: reloadLeaf, never: notObserved, lapsed: lastSeen},
	Acknowledgement: {
		reported: true, behind: "make it reload its trust bundle and acknowledge", stale: "make it reload its leaf and acknowledge",
		never:  "has never acknowledged what it has loaded",
		lapsed: "has not acknowledged again since its report ended at %s: make it acknowledge what it has loaded",
	},
	GracePeriod: {basis: onTime, assumes: func(p *Party) string {
		return fmt.Sprintf("%s is assumed to load what is published within %s", p.Name, p.Grace)
	}},
	Renewed: {basis: onRenewal, assumes: func(p *Party) string {
		return fmt.Sprintf("%s is assumed to use a renewed leaf, and what came with it, after %s", p.Name, p.Grace)
	}},
	StaticPodRevision: {perNode: true, whole: true, behind: rolledOut, stale: leafArrives, never: notObserved, lapsed: lastSeen},
	WorkloadRollout: {
		atStart: true, byRestart: true, whole: true, behind: rolledOut, stale: leafArrives, never: notObserved, lapsed: lastSeen,
		assumes: func(p *Party) string {
			if !p.StartAssumed {
				return ""
			}
			return "of " + p.Name + " " + p.assumption()
		},
	},
	Mounted: {
		atStart: true, inVolumes: true, whole: true, never: notObserved, lapsed: lastSeen,
		behind: "the writer of the immutable objects of its pods has not brought the bundle there yet",
		stale:  "the writer of the immutable Secrets of its pods has not brought the leaf there yet",
	},
	CABundle: {
		ofTargets: true, stale: reloadLeaf, never: notObserved, lapsed: lastSeen,
		behind: "its caBundle was not given the anchor yet; where that is held, an event on the object says why",
		assumes: func(p *Party) string {
			return fmt.Sprintf("every kube-apiserver is assumed to verify by a caBundle within %s after it is written", p.Grace)
		},
	},
	None: {basis: onStatement, assumes: func(p *Party) string {
		return fmt.Sprintf("nothing is asked of %s: %s", p.Name, p.Reason)
	}},
}

func (k EvidenceKind) traits() traits { return kinds[k] }

// Known reports whether there is evidence of the kind.
func (k EvidenceKind) Known() bool { _, ok := kinds[k]; return ok }

// observed reports whether evidence of the kind comes from observations of the members, not from the state of Secrets
// or from time.
func (k EvidenceKind) observed() bool { return k.Known() && k.traits().basis == onObservation }

// Watched reports whether the controller itself observes evidence of the kind, as long as it is configured to.
func (k EvidenceKind) Watched() bool { return k.observed() && !k.traits().reported }

// ByHandshake reports whether the evidence is what servers accept and present at their addresses.
func (k EvidenceKind) ByHandshake() bool { return k.traits().handshake }

// PerNode reports whether the evidence is of the static pods of a node.
func (k EvidenceKind) PerNode() bool { return k.traits().perNode }

// OfTargets reports whether the members are objects with a caBundle.
func (k EvidenceKind) OfTargets() bool { return k.traits().ofTargets }

// showsUse reports whether the evidence shows what verifies. Other evidence shows which file a program has: one that
// reads its first certificate only looks like one that reads all. kube-apiserver reads all of a caBundle.
func (k EvidenceKind) showsUse() bool {
	t := k.traits()
	return t.handshake || t.reported || t.ofTargets
}

// Stated reports whether the evidence is no more than the operator's reason.
func (k EvidenceKind) Stated() bool { return k.traits().basis == onStatement }
