/** Names that clients give to resources. */
import { HaumeaError } from '../base/errors.js';

/** Throws a `general` error unless the id consists of letters, digits, `_` and `-`. */
export function checkId(id: string): void {
  if (id === '') throw new HaumeaError('general', 'id cannot be empty');
  if (!/^[a-zA-Z0-9_-]+$/.test(id)) {
    throw new HaumeaError(
      'general',
      `id '${id}' contains invalid characters, only letters, digits, _ and - are allowed`,
    );
  }
}
