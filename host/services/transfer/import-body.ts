/** Members of the body of an import. */

import { textOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';

export type Body = Readonly<Record<string, unknown>>;

/** Reads where an import takes its document from: exactly one of a text and a URI; the other is empty. */
export function readImport(body: Body): { content: string; file: string } {
  const content = textOf(body, 'content');
  const file = textOf(body, 'file');
  if (content !== '' && file !== '') throw bodyErrors.importBoth();
  if (content === '' && file === '') throw bodyErrors.importNone();
  return { content, file };
}
