// Parts that both ways of encoding (encode/encode.ts, encode/gather.ts) share: how messages are told apart, and the
// message in the place of one that failed.
import { EncodeFlag, OutputFormat, rowWriteHead } from './row';
import { EncodeSpec, OutputFraming } from '../gen/encode-layouts';
import { failLen, failOff } from '../batch/failure';
import { headsOf } from './head';
import { OUT_SIZE, outClose, outEnd, outEndsFull, outErrorEnd, outFlush, outLimit, outOpen } from './output';
import { Tag } from '../mem/layout';
import { Node } from '../gen/node-layouts';

/** End of the only message of a segment that is handed out directly. */
export const ONE_END: usize = memory.data(4, 4);

/** True when messages end with a line feed; otherwise a list has their ends. */
// @ts-ignore: decorator
@inline export function isLines(spec: EncodeSpec): bool {
  return spec.framing == OutputFraming.LINES;
}

/** Bytes that `failureWrite` writes beside the text, with room for the end of a message. */
export const FAILURE_HEAD: u32 = 32;

/** Writes `len` bytes of the reason in batch/failure.ts as a message in the format of the node; returns its end. */
export function failureWrite(spec: EncodeSpec, to: usize, len: u32): usize {
  let p = to;
  if (spec.format == OutputFormat.ROWS) {
    rowWriteHead(p, Tag.OBJECT, 1);
    store<u32>(p, 5, 5);
    store<u32>(p, 0x6f727265, 9); // erro
    store<u8>(p, 0x72, 13); // r
    rowWriteHead(p + 14, Tag.STR, len);
    p += 19;
  }
  memory.copy(p, failOff, len);
  return p + len;
}

/** Sends the reason in batch/failure.ts in place of a message, if the rule wants that. */
export function sendFailure(node: Node, spec: EncodeSpec): void {
  if (!(spec.flags & EncodeFlag.SEND_ERROR)) return;
  const head = headsOf(spec);
  const len = min(failLen, head ? OUT_SIZE >> 2 : OUT_SIZE >> 1);
  const hasEnds = !isLines(spec);
  let p = outOpen(node, hasEnds);
  if (p + (head ? len << 1 : len) + 64 > outLimit || (hasEnds && outEndsFull(2))) {
    outClose(p, 0, 0);
    outFlush();
    p = outOpen(node, hasEnds);
  }
  if (head) {
    memory.copy(p, failOff, len);
    p += len;
    outEnd(p);
  }
  p = failureWrite(spec, p, len);
  if (hasEnds) outErrorEnd(p);
  else store<u8>(p++, 0x0a);
  outClose(p, head ? 2 : 1, 0);
}
