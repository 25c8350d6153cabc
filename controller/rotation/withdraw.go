// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"errors"
	"slices"

	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// accepted takes back what was said of an object that has been written.
func (c *Controller) accepted(ctx context.Context, k key, d *trust.Domain, action *trust.Action) error {
	if was := c.refused.done(k, action); !was && recordedOf(d.Refusals, objectOf(action)) == nil {
		return nil
	}
	return c.withdraw(ctx, k, objectOf(action))
}

// withdrawRefusals takes back what was said of objects of the domain that nothing is to be done with any more.
func (c *Controller) withdrawRefusals(ctx context.Context, k key, d *trust.Domain, actions []trust.Action) error {
	gone := c.refused.unwanted(k, actions)
	for i := range d.Refusals {
		if o := d.Refusals[i].Object; concerns(d, o) && !concerned(actions, o) && !slices.Contains(gone, o) {
			gone = append(gone, o)
		}
	}
	return c.withdraw(ctx, k, gone...)
}

// concerns says whether an object, as Kind/name, is one that the actions of a domain write.
func concerns(d *trust.Domain, object string) bool {
	secret := func(name string) string { return string(trust.SecretKind) + "/" + name }
	switch object {
	case secret(d.Signer.Name), string(trust.ConfigMapKind) + "/" + d.Bundle.Name, string(trust.RecordKind) + "/" + record.RosterName(d.Name):
		return true
	}
	return slices.ContainsFunc(d.Leaves, func(l trust.Leaf) bool { return secret(l.Name) == object }) ||
		slices.ContainsFunc(d.Requests, func(r trust.Request) bool { return string(trust.RecordKind)+"/"+r.Record == object })
}

// withdraw deletes the records of refusals.
func (c *Controller) withdraw(ctx context.Context, k key, objects ...string) error {
	var errs []error
	for _, refused := range objects {
		errs = append(errs, c.deleteRecord(ctx, k, record.RefusalName(refused)))
	}
	return errors.Join(errs...)
}

// recordedRefusals are those of a namespace, whatever they belong to.
func recordedRefusals(s *inventory.Sources) []trust.RefusedWrite {
	if s == nil {
		return nil
	}
	var out []trust.RefusedWrite
	for _, r := range s.Records {
		if r.Said != nil && r.Said.Refusal != nil {
			out = append(out, *r.Said.Refusal)
		}
	}
	return out
}

// withdrawOthers takes back what was said of objects that no domain writes: of aggregates that are as they should be, and
// of what the configurations do not name any more.
func (c *Controller) withdrawOthers(ctx context.Context, k key, n *inventory.Namespace, recorded []trust.RefusedWrite, actions []trust.Action) error {
	gone := c.refused.unwanted(k, actions)
	for i := range recorded {
		o := recorded[i].Object
		written := slices.ContainsFunc(n.Domains, func(d *trust.Domain) bool { return concerns(d, o) })
		if !written && !concerned(actions, o) && !slices.Contains(gone, o) {
			gone = append(gone, o)
		}
	}
	slices.Sort(gone)
	return c.withdraw(ctx, k, gone...)
}
