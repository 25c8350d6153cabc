// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package edition

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// ErrUnhashable reports a configuration with a value that has no structural hash.
var ErrUnhashable = errors.New("configuration cannot be hashed")

// maxDepth bounds the depth of a configuration, so that hashing one that points to itself ends.
const maxDepth = 64

// StructuralHash returns the hash of a configuration that names depend on: FormatV2 of
// github.com/mitchellh/hashstructure with zero values ignored. It is 64-bit FNV-1 over names of types and fields, and
// over values:
//
//	text, number          the hash of the bytes, integers in little endian; a bool is one byte
//	slice, array          h = hash(h, element), from 0
//	map                   the elements hash(key, value) XORed, and hashed
//	struct                begins as the hash of the name of its type; for each field:
//	                      h = hash(h XOR hash(hash(name), value))
//	pointer, interface    its target; nil is the integer 0
//
// Fields that are zero, not exported, or tagged hash:"ignore" or hash:"-" do not count. So a new field may be added
// anywhere and changes no hash while it is zero. The order of the set fields counts.
func StructuralHash(configuration any) (uint64, error) {
	return visit(reflect.ValueOf(configuration), 0)
}

var timeType = reflect.TypeFor[time.Time]()

func visit(v reflect.Value, depth int) (uint64, error) {
	if depth > maxDepth {
		return 0, fmt.Errorf("%w: it is more than %d levels deep", ErrUnhashable, maxDepth)
	}
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return ofBytes(make([]byte, 8)), nil
	}
	if v.Type() == timeType {
		return ofTime(v)
	}
	if number := bytesOf(v); number != nil {
		return ofBytes(number), nil
	}
	switch v.Kind() {
	case reflect.String:
		return ofBytes([]byte(v.String())), nil
	case reflect.Slice, reflect.Array:
		return ofList(v, depth)
	case reflect.Map:
		return ofMap(v, depth)
	case reflect.Struct:
		return ofStruct(v, depth)
	default:
		return 0, fmt.Errorf("%w: %s", ErrUnhashable, v.Type())
	}
}

func ofTime(v reflect.Value) (uint64, error) {
	moment, ok := reflect.TypeAssert[time.Time](v)
	if !ok {
		return 0, fmt.Errorf("%w: %s", ErrUnhashable, v.Type())
	}
	text, err := moment.MarshalBinary()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", ErrUnhashable, v.Type())
	}
	return ofBytes(text), nil
}

// bytesOf returns the bytes of a number or a bool, nil for anything else.
func bytesOf(v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Int, reflect.Int64:
		return binary.LittleEndian.AppendUint64(nil, uint64(v.Int()))
	case reflect.Uint, reflect.Uint64:
		return binary.LittleEndian.AppendUint64(nil, v.Uint())
	case reflect.Int8:
		return []byte{byte(v.Int())}
	case reflect.Uint8:
		return []byte{byte(v.Uint())}
	case reflect.Int16:
		return binary.LittleEndian.AppendUint16(nil, uint16(v.Int()))
	case reflect.Uint16:
		return binary.LittleEndian.AppendUint16(nil, uint16(v.Uint()))
	case reflect.Int32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.Int()))
	case reflect.Uint32:
		return binary.LittleEndian.AppendUint32(nil, uint32(v.Uint()))
	case reflect.Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v.Float()))
	default:
		return nil
	}
}

func ofList(v reflect.Value, depth int) (uint64, error) {
	var h uint64
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		// A fast path: most of the hashed content is bytes of certificates and keys.
		for _, b := range v.Bytes() {
			h = ordered(h, ofBytes([]byte{b}))
		}
		return h, nil
	}
	for i := range v.Len() {
		element, err := visit(v.Index(i), depth+1)
		if err != nil {
			return 0, err
		}
		h = ordered(h, element)
	}
	return h, nil
}

func ofMap(v reflect.Value, depth int) (uint64, error) {
	var h uint64
	for entry := v.MapRange(); entry.Next(); {
		key, err := visit(entry.Key(), depth+1)
		if err != nil {
			return 0, err
		}
		value, err := visit(entry.Value(), depth+1)
		if err != nil {
			return 0, err
		}
		h ^= ordered(key, value)
	}
	return finished(h), nil
}

func ofStruct(v reflect.Value, depth int) (uint64, error) {
	t := v.Type()
	h := ofBytes([]byte(t.Name()))
	for i := range v.NumField() {
		field, value := t.Field(i), v.Field(i)
		tag := field.Tag.Get("hash")
		if !field.IsExported() || tag == "ignore" || tag == "-" || value.IsZero() {
			continue
		}
		if tag != "" {
			return 0, fmt.Errorf("%w: %s.%s is tagged hash:%q", ErrUnhashable, t, field.Name, tag)
		}
		of, err := visit(value, depth+1)
		if err != nil {
			return 0, err
		}
		h = finished(h ^ ordered(ofBytes([]byte(field.Name)), of))
	}
	return h, nil
}

// The parameters of 64-bit FNV.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// ofBytes is FNV-1, which multiplies first.
func ofBytes(data []byte) uint64 {
	h := uint64(fnvOffset)
	for _, b := range data {
		h = h*fnvPrime ^ uint64(b)
	}
	return h
}

func ordered(a, b uint64) uint64 { return mixed(mixed(fnvOffset, a), b) }

func finished(a uint64) uint64 { return mixed(fnvOffset, a) }

// mixed mixes the eight bytes of n into h, lowest first.
func mixed(h, n uint64) uint64 {
	for range 8 {
		h = h*fnvPrime ^ n&0xff
		n >>= 8
	}
	return h
}
