// The description of a lookup as the host writes it (kernels/nodes/lookup.ts), and the state of its node.
//
//   state   0    program u32 (of the condition) | index u32 | serial u32 (of the table that the index is of) | begun
//   u32
//           16   failOff u32 | failLen u32 | isByKey u32 (one row of the table at most) | keyAt u32 (which of the keys
//           it is)
//           32   {serial u32 (of the shape looked at last), place i32}[fields + keys]
import { LookupSpec, LookupField, LookupKey, LOOKUP_FIELD_SIZE_OF, LOOKUP_KEY_SIZE_OF } from '../gen/lookup-layouts';
import { Program } from '../gen/ops-layouts';
import { NamesIndex } from './names-index';

export { LookupFieldKind } from '../gen/lookup-layouts';

/** State of a lookup. */
// @ts-ignore: decorator
@unmanaged
export class Look {
  program: Program;
  index: NamesIndex;
  serial: u32;
  begun: u32;
  fail: u32;
  failLen: u32;
  isByKey: u32;
  key: u32;
  places: u32;
}

/** Bytes of the state of a lookup. */
export function stateSize(spec: LookupSpec): u32 {
  return offsetof<Look>('places') + ((spec.fields + spec.keys) << 3);
}

/** The operand of column `i` that goes on. */
// @ts-ignore: decorator
@inline export function columnOperand(spec: LookupSpec, i: u32): u32 {
  return load<u16>(changetype<usize>(spec) + spec.columnsAt + ((<usize>i) << 1));
}

// @ts-ignore: decorator
@inline export function fieldAt(spec: LookupSpec, i: u32): LookupField {
  return changetype<LookupField>(changetype<usize>(spec) + spec.fieldsAt + <usize>(i * LOOKUP_FIELD_SIZE_OF));
}

// @ts-ignore: decorator
@inline export function keyAt(spec: LookupSpec, i: u32): LookupKey {
  return changetype<LookupKey>(changetype<usize>(spec) + spec.keysAt + <usize>(i * LOOKUP_KEY_SIZE_OF));
}

/** Address of the remembered place of field `i`, or with `fields + k` of key k. */
// @ts-ignore: decorator
@inline export function placeAt(state: Look, i: u32): usize {
  return changetype<usize>(state) + offsetof<Look>('places') + ((<usize>i) << 3);
}
