/**
 * How the SQL front words its complaints: always the place, what stands there, and what should stand there.
 */
import { errorTable, type HaumeaError } from '../base/errors.js';

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

export const sqlErrors = errorTable('sql', {
  at: ['parse', ({ line, column }: Place, what: string) => `line ${line} column ${column}: ${what}`],
  length: [
    'parse',
    (length: number, most: number) => `the statement has ${length} characters, at most ${most} are allowed`,
  ],
  escapes: ['parse', (reason: string) => reason],
  source: ['stream', (reason: string) => reason],
});

/** Builds a parse error about a place: `line 1 column 8: …`. */
export function parseErrorAt(place: Place, what: string): HaumeaError {
  return sqlErrors.at(place, what);
}
