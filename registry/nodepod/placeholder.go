// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package nodepod

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The placeholders of a pod template.
const (
	PlaceholderRevision = "REVISION"
	PlaceholderNodeName = "NODE_NAME"
	PlaceholderNodeIP   = "NODE_IP"
)

// substitute replaces the placeholders. Only whole words count, of ASCII letters, digits and underscores. So
// etcd-pod-REVISION and NODE_NAME.crt are replaced, but ETCD_REVISION, REVISIONS and NODE_NAME_2 stay. A word in
// braces or after "$(" is a variable of the same name. Replacing it would silently break the reference, so it is
// refused.
//
// An IPv6 address gets brackets where a URL or an address with a port needs them: after "//" and before a colon with
// a digit, unless the template has brackets there.
func substitute(template []byte, values Values) ([]byte, error) {
	var out bytes.Buffer
	for at := 0; at < len(template); {
		if !isWord(template[at]) {
			out.WriteByte(template[at])
			at++
			continue
		}
		end := at
		for end < len(template) && isWord(template[end]) {
			end++
		}
		value, replaced, err := values.of(template, at, end)
		if err != nil {
			return nil, err
		}
		if replaced {
			out.WriteString(value)
		} else {
			out.Write(template[at:end])
		}
		at = end
		if out.Len() > maxPodBytes {
			return nil, fmt.Errorf("with its placeholders replaced it is longer than %d bytes", maxPodBytes)
		}
	}
	return out.Bytes(), nil
}

// of returns the replacement for the word template[at:end], if that is a placeholder.
func (v Values) of(template []byte, at, end int) (string, bool, error) {
	word := string(template[at:end])
	before, after := string(template[max(0, at-2):at]), string(template[end:min(len(template), end+2)])
	var value string
	switch word {
	case PlaceholderRevision:
		value = strconv.Itoa(v.Revision)
	case PlaceholderNodeName:
		value = v.NodeName
	case PlaceholderNodeIP:
		value = address(v.NodeIP, before, after)
	default:
		return "", false, nil
	}
	if strings.HasSuffix(before, "{") || strings.HasSuffix(before, "$") || before == "$(" {
		line := 1 + bytes.Count(template[:at], []byte("\n"))
		return "", false, fmt.Errorf("line %d: %s%s looks like a variable, but %s is a placeholder: write %s alone, or give the variable another name",
			line, before[strings.LastIndexAny(before, "${"):], word, word, word)
	}
	return value, true, nil
}

func address(ip, before, after string) string {
	parsed, err := netip.ParseAddr(ip)
	if err != nil || !parsed.Is6() || strings.HasSuffix(before, "[") {
		return ip
	}
	port := len(after) == 2 && after[0] == ':' && '0' <= after[1] && after[1] <= '9'
	if port || before == "//" {
		return "[" + ip + "]"
	}
	return ip
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
