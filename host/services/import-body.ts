/** What the body of an import may say. */
import { HaumeaError } from '../base/errors.js';
import { textOf } from './resource-files.js';

export type Body = Readonly<Record<string, unknown>>;

/** Reads where an import takes its document from: exactly one of a text and a URI; the other is empty. */
export function readImport(body: Body): { content: string; file: string } {
  const content = textOf(body, 'content');
  const file = textOf(body, 'file');
  if (content !== '' && file !== '') throw new HaumeaError('general', 'invalid body: both content and file are given');
  if (content === '' && file === '') throw new HaumeaError('general', 'invalid body: must specify content or file');
  return { content, file };
}
