/** Names that clients give to resources. */
import { HaumeaError } from '../base/errors.js';

/** Names of files and lines of logs hold ids. */
const maxIdLength = 1000;

/** Throws a `general` error unless the id consists of letters, digits, `_` and `-`, and is not absurdly long. */
export function checkId(id: string): void {
  if (id === '') throw new HaumeaError('general', 'id cannot be empty');
  if (id.length > maxIdLength) {
    throw new HaumeaError('general', `id ${id.slice(0, 40)}… has ${id.length} characters, ${maxIdLength} are allowed`);
  }
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    throw new HaumeaError(
      'general',
      `id '${id}' contains invalid characters, only letters, digits, _ and - are allowed`,
    );
  }
}
