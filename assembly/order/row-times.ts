// Times of the rows of a batch, epoch ms, from their timestamp column.
import * as ctx from '../batch/context';
import { COL_UNIFORM, Tag, tagAt, valAt } from '../mem/layout';
import { plainError, valueError } from '../value/error';
import { textBegin, textI64, textLiteral, textTakeError } from '../value/text';
import { microsOf } from '../value/time';

/** Bound below which doubles are taken as times, epoch ms. */
const MOST_MS: f64 = 9.2e15;

/** Times of the rows of the batch, epoch ms, a double for each. */
export const TIMES: usize = memory.data(8 * 1024, 16);

/** Payload of the error for a row that lies more than `skew` ms ahead of the clock. */
export function aheadError(ms: f64, skew: f64): u64 {
  textBegin();
  textLiteral('the timestamp ');
  textI64(<i64>ms);
  textLiteral(' lies ');
  textI64(<i64>((ms - ctx.nowMs) / 1000));
  textLiteral(" s ahead of the server's clock, more than maxFutureSkew (");
  textI64(<i64>(skew / 1000));
  textLiteral(' s)');
  return textTakeError();
}

/**
 * Reads the times of the first rows into TIMES, as long as they are numbers from `from` to `to` and in order. Writes
 * these rows to `accepted` and returns their number.
 */
export function inOrder(stamps: usize, sel: usize, n: u32, from: f64, to: f64, accepted: usize): u32 {
  const uniform = load<u8>(stamps, COL_UNIFORM);
  if (uniform != Tag.F64 && uniform != Tag.I64) return 0;
  const isWhole = uniform == Tag.I64;
  let last = from;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const payload = valAt(stamps, row);
    const ms = isWhole ? <f64>(<i64>payload) : floor(reinterpret<f64>(payload));
    if (!(ms >= last && ms <= to && ms < MOST_MS)) return i;
    store<f64>(TIMES + ((<usize>row) << 3), ms);
    store<u32>(accepted + ((<usize>i) << 2), row);
    last = ms;
  }
  return n;
}

/** Reads the time of a row into TIMES. Returns the payload of the error when the row has no time, otherwise 0. */
export function readTime(stamps: usize, row: u32): u64 {
  const tag = tagAt(stamps, row);
  const payload = valAt(stamps, row);
  const at = TIMES + ((<usize>row) << 3);
  if (tag == Tag.I64) {
    store<f64>(at, <f64>(<i64>payload));
    return 0;
  }
  if (tag == Tag.F64 && abs(reinterpret<f64>(payload)) < MOST_MS) {
    store<f64>(at, floor(reinterpret<f64>(payload)));
    return 0;
  }
  if (tag == Tag.MISSING) return plainError('cannot find timestamp field in the row');
  if (tag == Tag.ERROR) return payload;
  const micros = tag == Tag.NULL ? i64.MIN_VALUE : microsOf(tag, payload);
  if (micros == i64.MIN_VALUE) return valueError('cannot convert timestamp field to timestamp: ', tag, payload);
  store<f64>(at, floor(<f64>micros / 1000));
  return 0;
}
