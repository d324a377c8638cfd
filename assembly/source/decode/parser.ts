// The JSON parser as a source wants it.
import * as ctx from '../../batch/context';
import { ParseFlag, parseInto } from '../../json/parse';
import { STREAM_FLAGS, StreamFlag } from '../columns/state';

/** Settings of the JSON parser for a source; once per fill, and again after metadata was parsed. */
export function parserFor(state: usize): void {
  const f = load<u8>(state, STREAM_FLAGS);
  parseInto(ctx.scratch, (f & StreamFlag.INTS ? ParseFlag.INTS : 0) | (f & StreamFlag.STRICT ? ParseFlag.STRICT : 0));
}
