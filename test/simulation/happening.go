// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// happening is a kind of event or state that a search must meet to prove anything of it.
type happening string

// Happenings.
const (
	dueLeaf        happening = "a leaf is due"
	renewedLeaf    happening = "a due leaf is renewed"
	dueSigner      happening = "a signer is due"
	rotatedSigner  happening = "a due signer is rotated"
	expiredNext    happening = "a next CA expires"
	clockProblem   happening = "a clock is not believed"
	paced          happening = "a leaf waits for its turn"
	compromised    happening = "a key is compromised"
	unreadableLeaf happening = "a leaf cannot be read"
	deletedAll     happening = "all Secrets are deleted"
	earlyLeaf      happening = "a leaf whose time has not come gets past the guard"
	unfitNext      happening = "a next CA that may not sign all leaves gets past the guard"
	reidentified   happening = "an active CA gets another key identifier past the guard"
	renewedCA      happening = "an active CA is renewed with its key"
	lostAll        happening = "everything but the records is lost"
	recovered      happening = "expired certificates are recovered offline"
	waived         happening = "a member is waived"
	diverged       happening = "a member trusts something else at rest"
	refusalShown   happening = "a refused write is a blocker"
	restoredOne    happening = "an object is restored"
	restoredAll    happening = "everything is restored"
	rosterEdit     happening = "the configuration changes who counts in flight"
	typoUndone     happening = "a member that was named by mistake is taken out"
	policyEdit     happening = "a policy shortens validity"
	refusedWrite   happening = "a write is refused"
	secondProcess  happening = "a member has a second process"
	clockJump      happening = "all clocks jump"
	longJump       happening = "all clocks jump by decades"
	aborted        happening = "a rotation is aborted"
	endedAlone     happening = "an aborted rotation ends before anybody loads"
	answered       happening = "a request is answered"
	asked          happening = "a request is made"
	lapsed         happening = "evidence lapses in flight"
	refusedReport  happening = "a report is refused"
	forgedReport   happening = "a report is forged"
	replayedReport happening = "a report is replayed"
	lateReport     happening = "a report is late"
	unlabelled     happening = "a node loses its label"
	unregistered   happening = "a node loses its object"
	movedNode      happening = "a node registers again with another address"
	renamedParty   happening = "a party of nodes gets another name"
	clientGone     happening = "a client goes, and leaves the configuration"
	recordedAbsent happening = "a member is proven to be gone"
	// For pods.
	podStart        happening = "a container of a pod starts"
	podTerminating  happening = "a pod terminates"
	podEnded        happening = "a pod is evicted"
	podLost         happening = "a pod vanishes with its node"
	podRelabelled   happening = "a pod loses its label"
	podsUnlisted    happening = "pods are not listed"
	selectorEdit    happening = "a selector is edited in flight"
	scaledToZero    happening = "a workload is scaled to zero"
	scaledBack      happening = "a workload is scaled up from zero"
	neighbourReport happening = "a pod reports for its neighbour"
	strayReport     happening = "a report of a former process arrives"
	lateContent     happening = "a pod loads less than is published"
	relapse         happening = "a container is started again with older content"
	sameNameAgain   happening = "a pod has the name of another and older content"
	lateJoin        happening = "a pod more starts with older content"
	// For programs that read their files only at start.
	heldAtGate        happening = "a pod waits at its start gate"
	newerBehindGate   happening = "a pod reads something newer than its gate has seen"
	podReplaced       happening = "a pod of a former template is replaced"
	gatedReplaced     happening = "a pod that waits for what is gone is deleted"
	restartedWorkload happening = "a workload is restarted"
	restartHeld       happening = "a restart waits for a person"
	rolloutPaused     happening = "a rollout is paused or resumed"
	templateByHand    happening = "a template is edited by hand"
	// For caBundles.
	injected       happening = "a caBundle is injected"
	caBundleByHand happening = "a caBundle is edited by hand"
	// For issuers.
	issuerAsked    happening = "the issuer is asked for a certificate"
	issuerFailed   happening = "the issuer fails"
	issuerRenewed  happening = "the issuer renews a leaf"
	issuerReplaced happening = "the issuer replaces its CA"
	issuedHeld     happening = "an issued leaf waits for its verifiers"
	// A start with an older bundle is harmless: no live leaf needs a newer one, and the rotation waits until the
	// pod has loaded. Kubelets are assumed not to mount a bundle with which a pod would refuse a live leaf.
	staleStart  happening = "a pod starts with something older than is published"
	staleHeld   happening = "a rotation waits for a pod that started so"
	outrunStart happening = "a pod would start with something older than live leaves need"
)

// leastOfAll is how often each must happen at least in perSteps steps.
func leastOfAll() map[happening]int {
	out := map[happening]int{
		dueLeaf: 50, renewedLeaf: 50, dueSigner: 5, rotatedSigner: 5, expiredNext: 1, clockProblem: 50, paced: 100, compromised: 10,
		unreadableLeaf: 50, deletedAll: 100, lostAll: 50, earlyLeaf: 50, unfitNext: 5, reidentified: 5, renewedCA: 10, recovered: 3, waived: 50, restoredOne: 20, restoredAll: 20, rosterEdit: 100, typoUndone: 3, policyEdit: 50, refusedWrite: 100,
		refusalShown: 20, secondProcess: 100, clockJump: 100, longJump: 30, aborted: 50, endedAlone: 2, answered: 500, asked: 500, lapsed: 100, refusedReport: 100, forgedReport: 50,
		replayedReport: 20, lateReport: 5, unlabelled: 20, unregistered: 20, movedNode: 5, renamedParty: 5, clientGone: 20, recordedAbsent: 20,
	}
	maps.Copy(out, leastOfPods())
	maps.Copy(out, leastOfIssuers())
	return out
}

// leastOfIssuers is how often the happenings of issuers must happen in perSteps steps.
func leastOfIssuers() map[happening]int {
	return map[happening]int{issuerAsked: 50, issuerRenewed: 20, issuerReplaced: 10, issuedHeld: 10}
}

// leastOfPods is how often the happenings of pods must happen in perSteps steps, a fifth of them in worlds with pods.
func leastOfPods() map[happening]int {
	return map[happening]int{
		podStart: 200, podTerminating: 20, podEnded: 10, podLost: 10, podRelabelled: 3, podsUnlisted: 5, scaledToZero: 5,
		lateContent: 5, staleStart: 1, staleHeld: 1, relapse: 1, sameNameAgain: 5, lateJoin: 3, neighbourReport: 3,
	}
}

// perSteps is the number of steps in which each must happen so often. A shorter search must see its share, rounded up.
const perSteps = 100_000

// lacking lists what has not happened often enough.
func (c *counts) lacking(least map[happening]int) []string {
	var out []string
	for _, h := range slices.Sorted(maps.Keys(least)) {
		if asked := (least[h]*min(c.steps, perSteps) + perSteps - 1) / perSteps; c.events[h] < asked {
			out = append(out, fmt.Sprintf("%s: %d times, at least %d are asked for", h, c.events[h], asked))
		}
	}
	return out
}

func (c *counts) event(h happening) { c.events[h]++ }

// report lists how often each has happened.
func (c *counts) report() string {
	var parts []string
	for _, h := range slices.Sorted(maps.Keys(c.events)) {
		parts = append(parts, fmt.Sprintf("%s %d", h, c.events[h]))
	}
	return strings.Join(parts, ", ")
}
