// The head of a message: its rows as JSON, with all columns, for properties of sinks that are templates over them. A
// head has an end of its own in the list of ends, before that of its message.
import { fail, failNotObject } from '../batch/failure';
import { jsonSizeBound, jsonWriteValue } from '../json/write';
import { OPERAND_NONE, Tag, lenOf, offOf } from '../mem/layout';
import { strideOf, tagsOf, valsOf } from '../ops/operand';
import { EncodeSpec } from '../gen/encode-layouts';
import { Program } from '../gen/ops-layouts';

/** Ends of a head and its message that are handed out directly. */
export const TWO_ENDS: usize = memory.data(8, 4);

/** True when the node that was prepared last has heads. */
export let hasHead: bool = false;
let tags: usize = 0;
let vals: usize = 0;
let stride: u32 = 0;

// @ts-ignore: decorator
@inline export function headsOf(spec: EncodeSpec): bool {
  return spec.head != OPERAND_NONE;
}

/** Reads the columns of the current batch. */
export function headPrepare(spec: EncodeSpec, program: Program): void {
  hasHead = headsOf(spec);
  if (!hasHead) return;
  const operand = spec.head;
  tags = tagsOf(program, operand);
  vals = valsOf(program, operand);
  stride = strideOf(operand);
}

/** Bytes that `headWrite` writes at most. */
export function headBound(row: u32): u64 {
  const at = row * stride;
  return 2 + jsonSizeBound(load<u8>(tags + at), load<u64>(vals + ((<usize>at) << 3)));
}

/** Writes the row as JSON and returns its end; 0 when it fails, the reason then stands in batch/failure.ts. */
export function headWrite(to: usize, row: u32): usize {
  const at = row * stride;
  const tag = load<u8>(tags + at);
  const val = load<u64>(vals + ((<usize>at) << 3));
  if (tag == Tag.OBJECT) return jsonWriteValue(to, tag, val);
  if (tag == Tag.ERROR) fail(offOf(val), lenOf(val));
  else failNotObject();
  return 0;
}
