// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "certrotation.dev/apis/config/v1alpha1"
	"certrotation.dev/registry/display"
	"certrotation.dev/registry/trust"
)

// Order is a workload that must be restarted, with everything that it is due for. If several trust domains wait for
// it, it restarts once.
type Order struct {
	Namespace string
	Workload  trust.Workload
	// Content are the annotations that the template must have. Superseded lists the former contents of each
	// annotation: a start gate for one of them lets a pod pass.
	Content    map[string]string
	Superseded map[string][]string
	// Quorum is how to ask the pods as members of an etcd cluster, nil if they are none.
	Quorum *configv1alpha1.Quorum
	// For are the relying parties that need it, ordered by trust domain and party; never empty.
	For []Need
}

// Need is one relying party whose evidence must come from a restart.
type Need struct {
	Domain, Configuration, Party string
	// Selector is the text of the selector of the party's pods (trust.Party.Selector), "" if unknown.
	Selector string
	// Waits are the members whose evidence is missing.
	Waits []string
}

// Orders returns the restarts that the domains of one namespace need, each workload once, ordered by kind and name.
func Orders(domains []*trust.Domain, due func(*trust.Domain) []trust.Restart) []*Order {
	byWorkload := map[trust.Workload]*Order{}
	for _, d := range domains {
		for _, r := range due(d) {
			order := byWorkload[r.Workload]
			if order == nil {
				order = &Order{Namespace: d.Namespace, Workload: r.Workload, Content: map[string]string{}, Superseded: map[string][]string{}}
				byWorkload[r.Workload] = order
			}
			maps.Copy(order.Content, r.Content)
			maps.Copy(order.Superseded, r.Superseded)
			order.For = append(order.For, Need{
				Domain: d.Name, Configuration: d.Configuration, Party: r.Party, Selector: selectorOf(d, r.Party), Waits: r.Waits,
			})
		}
	}
	for _, order := range byWorkload {
		slices.SortStableFunc(order.For, func(x, y Need) int {
			return cmp.Or(cmp.Compare(x.Domain, y.Domain), cmp.Compare(x.Party, y.Party))
		})
	}
	return slices.SortedFunc(maps.Values(byWorkload), func(x, y *Order) int {
		return cmp.Or(cmp.Compare(x.Workload.Kind, y.Workload.Kind), cmp.Compare(x.Workload.Name, y.Workload.Name))
	})
}

// TakeTurns restarts one workload of a relying party at a time, even if its trust domains have several due. Of those
// with the verdict Write, only the first keeps it, and none while another one is under way. Workloads that lack pods
// come first. orders are all of one namespace.
func TakeTurns(orders []*Order, known map[trust.Workload]trust.Progress, verdicts map[trust.Workload]Verdict) {
	var busy, lacking, others []*Order
	for _, o := range orders {
		underWay := known[o.Workload].UnderWay(o.Content)
		switch write := verdicts[o.Workload].State == Write; {
		case write && underWay:
			lacking = append(lacking, o)
		case write:
			others = append(others, o)
		case underWay:
			busy = append(busy, o)
		}
	}
	for _, o := range slices.Concat(lacking, others) {
		if at := slices.IndexFunc(busy, o.sharesParty); at >= 0 {
			verdicts[o.Workload] = wait(ReasonRolling, "has to be restarted, and its relying party has %s restarted first", busy[at].Object())
			continue
		}
		busy = append(busy, o)
	}
}

func (o *Order) sharesParty(other *Order) bool {
	return slices.ContainsFunc(o.For, func(n Need) bool {
		return slices.ContainsFunc(other.For, func(m Need) bool { return n.Configuration == m.Configuration && n.Party == m.Party })
	})
}

func selectorOf(d *trust.Domain, party string) string {
	if p := d.Party(party); p != nil {
		return p.Selector
	}
	return ""
}

// Object names the workload as Kind/name.
func (o *Order) Object() string { return string(o.Workload.Kind) + "/" + o.Workload.Name }

// Why names the parties for which the workload is restarted.
func (o *Order) Why() string {
	texts := make([]string, 0, len(o.For))
	for i := range o.For {
		n := &o.For[i]
		text := fmt.Sprintf("relying party %s of trust domain %s", n.Party, n.Domain)
		if len(n.Waits) > 0 {
			text += fmt.Sprintf(" (evidence of %s)", display.Names(n.Waits))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func (o *Order) contentText() string {
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(o.Content)) {
		texts = append(texts, key+"="+o.Content[key])
	}
	return strings.Join(texts, " and ")
}

func (n *Need) chooses(w *Workload) bool {
	if n.Selector == "" || slices.ContainsFunc(w.Secrets, func(name string) bool { return n.Selector == trust.Mounting(name) }) {
		return true
	}
	selector, err := labels.Parse(n.Selector)
	return err == nil && selector.Matches(labels.Set(w.Labels))
}
