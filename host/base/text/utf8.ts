/** Text from outside. */
import { errorTable } from '../errors.js';

const textErrors = errorTable('text', {
  notUtf8: ['general', (what: string) => `${what} is no text in UTF-8`],
});

/**
 * Reads bytes as UTF-8, a leading mark of the byte order left out; throws a `general` error that names `what` they are.
 */
export function textFromUtf8(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw textErrors.notUtf8(what, { cause: error });
  }
}
