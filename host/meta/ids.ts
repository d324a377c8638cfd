/** Names that clients give to resources. */
import { storedErrors } from './errors.js';

/** Names of files and lines of logs hold ids. */
const maxIdLength = 1000;

/** Throws a `general` error unless the id consists of letters, digits, `_` and `-`, and is not absurdly long. */
export function checkId(id: string): void {
  if (id === '') throw storedErrors.noId();
  if (id.length > maxIdLength) {
    throw storedErrors.longId(id.slice(0, 40), id.length, maxIdLength);
  }
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    throw storedErrors.badId(id);
  }
}
