// Text of doubles.
import { MAX_F64_PLAIN_TEXT, MAX_F64_TEXT, printF64, printF64General, printF64Plain } from '../text/f64-print';
import { textGrow, textRoom } from './text';

/** Appends the shortest text that reads back as the same double, with an exponent from 1e6 on and below 1e-4. */
export function putFloat(x: f64): void {
  const to = textRoom(MAX_F64_TEXT);
  if (to) textGrow(<u32>(printF64General(to, x) - to));
}

/** As `putFloat` and as JSON has it, with an exponent from 1e21 on and below 1e-6. */
export function putFloatShort(x: f64): void {
  const to = textRoom(MAX_F64_TEXT);
  if (to) textGrow(<u32>(printF64(to, x) - to));
}

/** As `putFloat`, never with an exponent. */
export function putFloatPlain(x: f64): void {
  const to = textRoom(MAX_F64_PLAIN_TEXT);
  if (to) textGrow(<u32>(printF64Plain(to, x) - to));
}
