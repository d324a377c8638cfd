/**
 * How the SQL front words its complaints: always the place, what stands there, and what should stand there.
 */
import { HaumeaError } from '../base/errors.js';

/** A place in a statement, counted from 1. */
export interface Place {
  line: number;
  column: number;
}

/** Longest piece of the statement repeated in a message, in UTF-16 units. */
const MAX_QUOTED = 40;

/** Shortens text for a message and makes control characters visible. */
export function quoteFragment(text: string): string {
  const shown = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return JSON.stringify(shown).replaceAll('\\"', '"').replaceAll('\\\\', '\\');
}

/** Builds a parse error about a place: `line 1 column 8: …`. */
export function parseErrorAt(place: Place, what: string): HaumeaError {
  return new HaumeaError('parse', `line ${place.line} column ${place.column}: ${what}`);
}
