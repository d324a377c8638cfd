// What tests and micro-benchmarks of the text, JSON and source kernels call.
import { stateOf } from '../source/columns/state';
import { Node } from '../gen/node-layouts';

export { contextInit, scratch, scratchReset, setNow } from '../batch/context';
export { alloc, allocZeroed, free, bytesInUse } from '../mem/alloc';
export { nodeNew, nodeRelease } from '../node/node';
export * from '../source/source';
export { parseF64, f64End, f64Whole, f64Canonical } from '../text/f64-parse';
export { printF64, printF64General, printF64Plain } from '../text/f64-print';
export { printI64, parseI64, i64Value } from '../text/i64';
export { BASE64_SLACK, parseBase64, printBase64 } from '../text/base64';
export { isUtf8 } from '../text/utf8';
export { timeParse, timePrint, timeValue } from '../text/time';
export { parseDocument, valueTag, valuePayload } from '../json/parse';
export { faultMessage } from '../json/fault';
export { messageOff, messageLen } from '../text/message';
export { rowsRead, rowsSize, rowsWrite, rowsTag, rowsPayload } from '../json/binary-form';
export { jsonSizeBound, jsonWriteValue } from '../json/write';
/** Steps that a source has, START, UNKNOWN and MISS among them. */
export function stepCount(node: Node): u32 {
  return stateOf(node).stepCount;
}
