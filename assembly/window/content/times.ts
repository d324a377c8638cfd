// Times, epoch milliseconds, of the rows of the current batch and of windows that end with a row.
import * as ctx from '../../batch/context';
import { Tag } from '../../mem/layout';
import { strideOf, tagsOf, valsOf } from '../../ops/operand';
import { microsOf } from '../../value/time';
import { WindowFlag } from '../../agg/group/spec';
import { rowTimes } from './frame';
import { Node } from '../../gen/node-layouts';
import { Program } from '../../gen/ops-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from './state';

// @ts-ignore: decorator
@inline export function timeOfRow(row: u32): f64 {
  return load<f64>(rowTimes() + ((<usize>row) << 3));
}

/** Reads the times of the rows: event time from the timestamp column, otherwise the clock. */
export function readTimes(spec: WindowSpec, program: Program, sel: usize, n: u32): void {
  const times = rowTimes();
  if (!(spec.flags & WindowFlag.EVENT_TIME)) {
    const now = floor(ctx.nowMs);
    for (let i: u32 = 0; i < n; i++) store<f64>(times + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3), now);
    return;
  }
  const operand = spec.timestamp;
  const vals = valsOf(program, operand);
  const tags = tagsOf(program, operand);
  const stride = strideOf(operand);
  let last: f64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const tag = load<u8>(tags + row * stride);
    const payload = load<u64>(vals + ((row * stride) << 3));
    if (tag == Tag.I64) last = <f64>(<i64>payload);
    else {
      // The time column of an eventTime node is always a whole number. Another value is read as a time; if it has none,
      // the row gets the time of the row before.
      const micros = microsOf(tag, payload);
      if (micros != i64.MIN_VALUE) last = floor(<f64>micros / 1000);
    }
    store<f64>(times + ((<usize>row) << 3), last);
  }
}

/** Handles a clock that is set back: begin and last row of the window move along, where they are known. */
export function timesSetBack(node: Node, spec: WindowSpec, state: WindowState, ms: f64): void {
  if (state.start) state.start -= ms;
  if (state.lastTime) state.lastTime -= ms;
}
