// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"certrotation.dev/apis/certrotation/v1alpha1"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func in(d time.Duration) *metav1.Time {
	out := metav1.NewTime(now.Add(d))
	return &out
}

// domain makes the objects of a trust domain.
type domain struct {
	namespace, name string
	objects         []runtime.Object
	signer          *v1alpha1.CertificateRotation
	bundle          *v1alpha1.BundleStatus
}

func fingerprint(of string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(of))) }

func certificate(subject, signedBy string, from, to time.Duration) v1alpha1.Certificate {
	return v1alpha1.Certificate{
		Fingerprint: fingerprint(subject), Subject: subject, Issuer: signedBy, SerialNumber: "1", KeyAlgorithm: "ECDSA-P256",
		NotBefore: *in(from), NotAfter: *in(to), SignedBy: fingerprint(signedBy),
	}
}

// newDomain is at rest: its CA is valid for two years, and the evidence of its members has expired.
func newDomain(namespace, name, subject string) *domain {
	ca := certificate(subject, subject, -200*day, 530*day)
	d := &domain{namespace: namespace, name: name}
	ready := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	d.signer = &v1alpha1.CertificateRotation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-signer"},
		Spec:       v1alpha1.CertificateRotationSpec{Role: v1alpha1.RoleSigner, TrustDomain: name, Signer: name + "-signer"},
		Status: v1alpha1.CertificateRotationStatus{
			Stage: v1alpha1.StageStable, Certificate: &ca, RotatesAt: in(350 * day), Conditions: ready,
		},
	}
	d.bundle = &v1alpha1.BundleStatus{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-ca-bundle"},
		Spec:       v1alpha1.BundleStatusSpec{TrustDomain: name, Signer: name + "-signer"},
		Status:     v1alpha1.BundleStatusStatus{Anchors: []v1alpha1.Anchor{{Certificate: ca, Slot: "active"}}, Conditions: ready},
	}
	d.objects = []runtime.Object{d.signer, d.bundle}
	return d
}

// leaf adds a leaf that the active CA has signed.
func (d *domain) leaf(name string, from, to time.Duration) *v1alpha1.CertificateRotation {
	c := certificate("CN="+name, d.signer.Status.Certificate.Subject, from, to)
	l := &v1alpha1.CertificateRotation{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name},
		Spec:       v1alpha1.CertificateRotationSpec{Role: v1alpha1.RoleLeaf, TrustDomain: d.name, Signer: d.signer.Name},
		Status: v1alpha1.CertificateRotationStatus{
			Stage: d.signer.Status.Stage, Certificate: &c, RotatesAt: in(to - (to-from)/5),
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
		},
	}
	d.objects = append(d.objects, l)
	return l
}

// member adds a member of a relying party.
func (d *domain) member(party, name, evidence string, known, trusted bool) *v1alpha1.MemberStatus {
	d.signer.Status.Members = append(d.signer.Status.Members, v1alpha1.MemberStatus{
		Party: party, Member: name, Evidence: evidence, Known: known, Trusted: trusted, Delivered: trusted, LastChange: in(-90 * time.Minute),
	})
	members := d.signer.Status.Members
	d.bundle.Status.Anchors[0].Trust = trust(members)
	return &members[len(members)-1]
}

// block puts a rotation in flight that a member holds up.
func (d *domain) block(subject, party, member, message string) {
	s := &d.signer.Status
	next := certificate(subject, subject, -3*time.Hour, 730*day)
	s.Stage, s.StageSince, s.StageDeadline = v1alpha1.StageDistributing, in(-3*time.Hour), in(21*time.Hour)
	s.Next, s.RotatesAt = &next, in(-4*time.Hour)
	s.Blockers = []v1alpha1.Blocker{{Party: party, Member: member, Reason: "AnchorNotLoaded", Message: message, Since: in(-80 * time.Minute)}}
	total := int32(len(s.Members))
	d.bundle.Status.Anchors[0].Trust = v1alpha1.TrustCount{Trusted: total, Total: total}
	d.bundle.Status.Anchors = append(d.bundle.Status.Anchors, v1alpha1.Anchor{
		Certificate: next, Slot: "next", Trust: trust(s.Members),
	})
}

func trust(members []v1alpha1.MemberStatus) v1alpha1.TrustCount {
	count := v1alpha1.TrustCount{Total: int32(len(members))}
	for i := range members {
		switch {
		case members[i].Trusted:
			count.Trusted++
		case !members[i].Known:
			count.Unknown++
		}
	}
	return count
}

// blocked is a domain whose rotation one client holds up.
func blocked() *domain {
	d := newDomain("billing", "orders", "CN=orders CA 2025")
	d.leaf("orders-server", -20*day, 70*day)
	d.leaf("orders-client-billing", -75*day, 15*day)
	expired := d.leaf("orders-client-archive", -91*day, -26*time.Hour)
	expired.Status.Conditions[0].Status = metav1.ConditionFalse
	d.member("server", "server", "tlsProbe", true, true)
	d.member("clients", "billing", "acknowledgement", true, true)
	lag := d.member("clients", "archive", "acknowledgement", true, false)
	lag.Message = "has not loaded CN=orders CA 2026: make it reload its trust bundle and acknowledge"
	d.member("clients", "reports", "mounted", false, false)
	waived := d.member("partners", "warehouse", "acknowledgement", false, false)
	waived.Waiver = &v1alpha1.MemberWaiver{Reason: "INC-7: the host is gone", WaivedBy: "ada", Expires: *in(day)}
	d.block("CN=orders CA 2026", "clients", "archive", lag.Message)
	return d
}

// healthy is a domain at rest.
func healthy() *domain {
	d := newDomain("openshift-etcd", "etcd", "CN=etcd-signer@1")
	for _, node := range []string{"n1", "n2", "n3"} {
		d.leaf("etcd-peer-"+node, -100*day, 900*day)
		d.member("etcd", node, "staticPodRevision", true, true)
	}
	d.member("apiserver", "apiserver", "tlsProbe", false, false)
	return d
}

// hostile is a domain with names as long as they may be, and with the names that an attacker would choose.
func hostile() *domain {
	long := strings.Repeat("very-long-name-", 16)
	d := newDomain(strings.Repeat("n", 63), strings.Repeat("w", 63), `CN="><script>document.title='owned'</script>]]><img src=https://evil.example/x>`)
	d.leaf(long+"a", -10*day, 80*day)
	d.leaf(long+"b", -10*day, 80*day).Status.Certificate.Subject = "CN=\u202etxt.exe\u0007\u0000 " + strings.Repeat("証明書", 30)
	d.member(long, long+"member", "acknowledgement", true, true)
	return d
}

// large is a domain with 50 leaves and 40 members.
func large() *domain {
	d := newDomain("mesh", "mesh", "CN=mesh CA")
	for i := range 50 {
		d.leaf(fmt.Sprintf("workload-%02d", i), -time.Duration(i)*8*time.Hour, time.Duration(60-i)*12*time.Hour)
	}
	for i := range 40 {
		d.member("sidecars", fmt.Sprintf("pod-%02d", i), "mounted", true, true)
	}
	return d
}
