package session_test

import (
	"reflect"

	"pgregory.net/rapid"

	. "varve/internal/session"
)

// anyEvent draws an event of any kind with facts that need not make sense:
// small numbers, so that they often name each other.
func anyEvent() *rapid.Generator[Event] { return eventWith(3) }

// eventWith is anyEvent with lists of at most so many elements.
func eventWith(elements int) *rapid.Generator[Event] {
	all := samples()
	return rapid.Custom(func(t *rapid.T) Event {
		typ := reflect.TypeOf(rapid.SampledFrom(all).Draw(t, "kind").fact.Event)
		v := reflect.New(typ).Elem()
		fill(t, v, typ.Name(), elements)
		return v.Interface().(Event)
	})
}

func fill(t *rapid.T, v reflect.Value, name string, elements int) {
	switch v.Interface().(type) {
	case Seq:
		v.SetUint(rapid.Uint64Range(0, 24).Draw(t, name))
		return
	case ItemID:
		if q := rapid.Uint64Range(0, 24).Draw(t, name); q > 0 {
			v.Set(reflect.ValueOf(ItemID{Seq: Seq(q), Part: rapid.IntRange(1, 3).Draw(t, name)}))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), name, elements)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if n := v.Type().Field(i).Name; n != "Spilled" {
				fill(t, v.Field(i), name+"."+n, elements)
			}
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, elements).Draw(t, name); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				if i >= 3 { // the fourth and later ones repeat: drawing thousands takes long
					v.Index(i).Set(v.Index(i % 3))
					continue
				}
				fill(t, v.Index(i), name, 3)
			}
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.ValueOf(map[string]string{"": "<&>", "k\u2028": "v"}))
		}
	case reflect.String:
		v.SetString(rapid.SampledFrom(words).Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(-9, 3000).Draw(t, name))
	case reflect.Uint32:
		v.SetUint(rapid.Uint64Range(0, 0o777).Draw(t, name))
	case reflect.Float64:
		v.SetFloat(float64(rapid.IntRange(0, 1000).Draw(t, name)) / 8)
	default:
		panic("no values for " + v.Type().String())
	}
}

// words are strings that mean something to a fold, and some that don't.
var words = []string{
	"", "user", "assistant", "tool_call", "tool_result", "reasoning", "steer", "queue", "model", "mode", "granted", "revoked", "run", "always",
	"lost", "length", "a", "b", "\u2028\"\\", "{\"ref\":",
}
