// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"certrotation.dev/registry/pki"
	"certrotation.dev/registry/trust"
)

// Decode reads the data of a record. Its errors wrap ErrMalformed and name the key, but quote no value.
func Decode(data map[string]string) (domain, party, member string, o *trust.Observation, err error) {
	for key := range data {
		if !known(key) {
			return "", "", "", nil, fmt.Errorf("%w: unknown key %.*q", ErrMalformed, maxNameBytes, key)
		}
	}
	for _, key := range []string{keyDomain, keyParty, keyMember} {
		if name := data[key]; name == "" || len(name) > maxNameBytes {
			return "", "", "", nil, malformed(key, fmt.Sprintf("it has %d bytes, want 1 to %d", len(name), maxNameBytes))
		}
	}
	o, err = decodeObservation(data)
	if err != nil {
		return "", "", "", nil, err
	}
	return data[keyDomain], data[keyParty], data[keyMember], o, nil
}

func decodeObservation(data map[string]string) (*trust.Observation, error) {
	var (
		o   trust.Observation
		err error
	)
	if o.Trusts, err = decodeList[pki.Fingerprint](data, keyTrusts); err != nil {
		return nil, err
	}
	if o.TrustedSubjects, err = decodeList[string](data, keyTrustedSubjects); err != nil {
		return nil, err
	}
	if o.Presents, err = decodeList[pki.Fingerprint](data, keyPresents); err != nil {
		return nil, err
	}
	if o.RecoveredUntil, err = decodeTime(data, keyRecoveredUntil); err != nil {
		return nil, err
	}
	if o.ObservedAt, err = decodeTime(data, keyObservedAt); err != nil {
		return nil, err
	}
	if o.StartedAt, err = decodeTime(data, keyStartedAt); err != nil {
		return nil, err
	}
	o.Failure = data[keyFailure]
	if len(o.Failure) > MaxFailureBytes || !utf8.ValidString(o.Failure) {
		return nil, malformed(keyFailure, fmt.Sprintf("want UTF-8 of at most %d bytes", MaxFailureBytes))
	}
	return &o, nil
}

// decodeList returns the entries in order and without duplicates. Each has to be a SHA-256 in lower-case hexadecimal.
func decodeList[S ~string](data map[string]string, key string) ([]S, error) {
	text := strings.TrimSuffix(data[key], "\n")
	if text == "" {
		return nil, nil
	}
	if entries := strings.Count(text, "\n") + 1; entries > MaxFingerprints {
		return nil, malformed(key, fmt.Sprintf("it has %d entries, the limit is %d", entries, MaxFingerprints))
	}
	var list []S
	for entry := range strings.SplitSeq(text, "\n") {
		if !isSHA256(entry) {
			return nil, malformed(key, fmt.Sprintf("line %d is no SHA-256 in lower-case hexadecimal", len(list)+1))
		}
		list = append(list, S(entry))
	}
	return canonical(list), nil
}

func isSHA256(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == 32 && hex.EncodeToString(sum) == text
}

func decodeTime(data map[string]string, key string) (time.Time, error) {
	text := data[key]
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	t = t.UTC()
	// An offset may move a time out of the years that RFC 3339 can write.
	if err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}, malformed(key, "it is no time in RFC 3339")
	}
	return t, nil
}

func known(key string) bool {
	switch key {
	case keyDomain, keyParty, keyMember, keyTrusts, keyTrustedSubjects, keyPresents, keyRecoveredUntil, keyObservedAt,
		keyStartedAt, keyFailure:
		return true
	default:
		return false
	}
}

func malformed(key, what string) error {
	return fmt.Errorf("%w: %s: %s", ErrMalformed, key, what)
}
