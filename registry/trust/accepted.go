// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MaxAcceptedCopies bounds what one Namespace is asked for. The API server bounds the text.
const MaxAcceptedCopies = 1000

// AcceptedCopy is one entry of the annotation CopiesFrom: the namespace that has the entry accepts an object of that kind and
// name from the configurations of the namespace From. There is nothing that stands for several names or namespaces.
type AcceptedCopy struct {
	From string
	Kind ObjectKind
	Name string
}

// String is the entry as it is written, FROM/KIND/NAME.
func (a AcceptedCopy) String() string { return a.From + "/" + string(a.Kind) + "/" + a.Name }

// RefusedEntry is an entry that accepts nothing.
type RefusedEntry struct{ Entry, Why string }

var (
	namespaceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	objectNames   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
)

// ParseCopiesFrom reads the annotation CopiesFrom. An entry that is not understood takes no other with it.
func ParseCopiesFrom(text string) ([]AcceptedCopy, []RefusedEntry) {
	var accepted []AcceptedCopy
	var refused []RefusedEntry
	for entry := range strings.SplitSeq(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		if len(accepted)+len(refused) == MaxAcceptedCopies {
			return accepted, append(refused, RefusedEntry{shown(entry), fmt.Sprintf("comes after %d others", MaxAcceptedCopies)})
		}
		a, why := parseEntry(entry)
		if why != "" {
			refused = append(refused, RefusedEntry{shown(entry), why})
			continue
		}
		accepted = append(accepted, a)
	}
	return accepted, refused
}

func parseEntry(entry string) (AcceptedCopy, string) {
	parts := strings.Split(entry, "/")
	if len(parts) != 3 {
		return AcceptedCopy{}, "is not of the form NAMESPACE/Secret/NAME or NAMESPACE/ConfigMap/NAME"
	}
	a := AcceptedCopy{From: parts[0], Kind: ObjectKind(parts[1]), Name: parts[2]}
	switch {
	case !namespaceName.MatchString(a.From):
		return AcceptedCopy{}, "does not begin with the name of a namespace"
	case a.Kind != SecretKind && a.Kind != ConfigMapKind:
		return AcceptedCopy{}, "is of neither kind, Secret or ConfigMap"
	case !objectNames.MatchString(a.Name):
		return AcceptedCopy{}, "does not end with the name of an object"
	}
	return a, ""
}

// shown is as much of an entry as belongs in a message.
func shown(entry string) string {
	const most = 80
	if len(entry) <= most {
		return entry
	}
	return strings.ToValidUTF8(entry[:most], "") + "..."
}

// CopyVerdict says whether a copy may be where it is.
type CopyVerdict int

// Verdicts. What is withdrawn is taken back, what is undecided stays as it is, and neither is written.
const (
	CopyUndecided CopyVerdict = iota
	CopyWithdrawn
	CopyAllowed
)

// CopyConsent is what a copy into another namespace, or within one, rests on.
type CopyConsent struct {
	// Copy as the destination would accept it, and the Namespace that it is in.
	Copy        AcceptedCopy
	Destination string
	// SourceManaged says that the Namespace of the source exists and has the label LabelManaged.
	SourceManaged bool
	// Asked says that a configuration of the source's namespace asks for it; Unreadable names the configurations that might.
	Asked      bool
	Unreadable []string
	// Accepted is the annotation CopiesFrom of the destination.
	Accepted string
}

// JudgeCopy says whether the copy may be there, and if not, why and what to do. A configuration that cannot be read takes
// nothing from anybody; whatever else is missing takes the copy back.
func JudgeCopy(c *CopyConsent) (CopyVerdict, string) {
	same := c.Destination == c.Copy.From
	if !c.SourceManaged {
		if same {
			return CopyUndecided, fmt.Sprintf("namespace %s does not have the label %s=%s: nothing is written in it", c.Copy.From, LabelManaged, ManagedValue)
		}
		return CopyWithdrawn, fmt.Sprintf("namespace %s, where the source is, does not have the label %s=%s", c.Copy.From, LabelManaged, ManagedValue)
	}
	if !same {
		accepted, refused := ParseCopiesFrom(c.Accepted)
		if !slices.Contains(accepted, c.Copy) {
			return CopyWithdrawn, fmt.Sprintf("namespace %s does not accept %s/%s from namespace %s%s; whoever owns it agrees by adding %s to its annotation %s, which is separated by commas",
				c.Destination, c.Copy.Kind, c.Copy.Name, c.Copy.From, refusedOf(c.Copy.From, refused), c.Copy, CopiesFrom)
		}
	}
	switch {
	case c.Asked:
		return CopyAllowed, ""
	case len(c.Unreadable) > 0:
		return CopyUndecided, fmt.Sprintf("it is not known whether it is still asked for: %s cannot be read", strings.Join(c.Unreadable, ", "))
	}
	return CopyWithdrawn, "no configuration of namespace " + c.Copy.From + " asks for it"
}

// refusedOf names the entries about a namespace that accept nothing. Those about others are none of its business.
func refusedOf(from string, refused []RefusedEntry) string {
	var texts []string
	for _, r := range refused {
		if r.Entry == from || strings.HasPrefix(r.Entry, from+"/") {
			texts = append(texts, fmt.Sprintf("%q %s", r.Entry, r.Why))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}
