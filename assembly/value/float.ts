// Text of doubles as text functions show them.
import { textI64, textLiteral } from './text';

/** Appends the shortest text that reads back as the same double. */
export function putFloat(x: f64): void {
  if (x == Math.floor(x) && abs(x) < 9e18) textI64(<i64>x);
  else textLiteral('?');
}
