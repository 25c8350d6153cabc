// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"errors"
	"net"

	"certrotation.dev/controller/dial"
)

// Unproven is all that is told of an address where nobody has proven to belong to the trust domain. Whether nobody listens,
// nobody answers, somebody speaks something else or is somebody else is not for those to know who chose the address.
const Unproven = "nobody who proves to belong to this trust domain answers there; the log of the controller says what was met"

// Told is what may be told of a failure, at an address where nobody has proven to belong to the trust domain: what follows
// from the address and its name alone, or Unproven.
func Told(err error) string {
	if denied, ok := errors.AsType[*dial.Refusal](err); ok {
		return "its " + denied.Error()
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case ok && dns.IsNotFound:
		return "its host name " + dns.Name + " is not known"
	case ok:
		return "its host name " + dns.Name + " cannot be resolved"
	}
	return Unproven
}
