/** Warnings in the answers to changes. */

import type { Outcome } from '../../services/body/outcome.js';
import { Reply } from './route.js';

/** A header can't be endless: what does not fit is in the log. */
const maxHeaderLength = 4000;

/**
 * The answer to a change with what its sender should know. The first line of the text stays as clients know it, each of
 * the warnings is a line of its own below it. The header `Warning` has them all, also the notes.
 */
export function replyOf({ text, warnings, notes }: Outcome): Reply {
  const body = [...(text === '' ? [] : [text]), ...warnings.map((warning) => `Warning: ${warning}`)].join('\n');
  return new Reply(body, undefined, undefined, warningHeader([...warnings, ...notes]));
}

/** The header `Warning` with these sentences, as far as they fit; none without any. */
export function warningHeader(warnings: readonly string[]): { Warning?: string } {
  const headers: string[] = [];
  for (const warning of warnings) {
    const header = `299 - ${JSON.stringify(ascii(warning))}`;
    if (headers.join(', ').length + header.length < maxHeaderLength) headers.push(header);
  }
  return headers.length === 0 ? {} : { Warning: headers.join(', ') };
}

/** Other characters have no place in a header. */
function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
