// Texts of the errors of aggregates, in the words that clients of the reference engine know.
import { Agg, functionName } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { textBegin, textLiteral, textTake } from '../../value/text';
import { kindName, putKind } from '../../value/error';

function begin(fn: u32): void {
  textBegin();
  textLiteral('call func ');
  textLiteral(functionName(fn));
  textLiteral(' error: ');
}

/** Error of a value whose kind does not go with the values before it (`have`; MISSING for the first value). */
export function kindError(fn: u32, have: u8, tag: u8, payload: u64): u64 {
  begin(fn);
  if (have == Tag.MISSING) textLiteral('found invalid arg ');
  else {
    textLiteral('requires ');
    textLiteral(kindName(have));
    textLiteral(' but found ');
  }
  putKind(tag, payload);
  return textTake();
}

/** Error of a value that is not a number in an aggregate of numbers. */
export function numberError(fn: u32, tag: u8, payload: u64): u64 {
  begin(fn);
  textLiteral('requires float64 slice but found ');
  putKind(tag, payload);
  return textTake();
}

/** Error of a percentile outside 0 … 1. */
export function rangeError(fn: u32): u64 {
  begin(fn);
  textLiteral(fn == Agg.PERCENTILE_DISC ? 'PopulationVariance' : 'percentile');
  textLiteral(' exec with error: Input is outside of range.');
  return textTake();
}

/** Error of a parameter of the wrong kind. */
export function parameterError(fn: u32, kind: string, tag: u8, payload: u64): u64 {
  begin(fn);
  textLiteral('the second parameter requires ');
  textLiteral(kind);
  textLiteral(' but found ');
  putKind(tag, payload);
  return textTake();
}
