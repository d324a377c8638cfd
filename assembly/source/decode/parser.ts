// The JSON parser as a source wants it.
import * as ctx from '../../batch/context';
import { ParseFlag, parseInto } from '../../json/parse';
import { Source, StreamFlag } from '../columns/state';

/** Settings of the JSON parser for a source; once per fill, and again after metadata was parsed. */
export function parserFor(state: Source): void {
  const f = state.flags;
  parseInto(ctx.scratch, (f & StreamFlag.INTS ? ParseFlag.INTS : 0) | (f & StreamFlag.STRICT ? ParseFlag.STRICT : 0));
}
